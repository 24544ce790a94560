// A tool of your own. Its `effects` tell Holdfast what a crash in the middle of a call means.
import { defineTool, failure, openHoldfast, success } from 'holdfast'

const stock = new Map([['tea', 3]])

const countStock = defineTool<{ item: string }>({
  name: 'count_stock',
  description: 'Tells how many pieces of an item are in stock.',
  inputSchema: {
    type: 'object',
    properties: { item: { type: 'string' } },
    required: ['item'],
    additionalProperties: false,
  },
  // `none`: calling it twice is harmless. Others are `idempotent`, `verifiable` and `once` (the default).
  effects: 'none',
  // `input` was checked against the schema. A thrown error becomes an error that the model can read.
  run: async (input) => {
    const count = stock.get(input.item)
    return count === undefined ? failure(`There is no item "${input.item}".`) : success(`${count} pieces`)
  },
})

const holdfast = await openHoldfast({
  home: process.env.HOLDFAST_HOME ?? './holdfast-home',
  tools: [countStock],
})
const agent = await holdfast.agents.create({
  name: `clerk-${Date.now()}`,
  // With a key of your own, for example: OPENAI_API_KEY=… and 'openai/gpt-4.1'.
  model: process.env.MODEL ?? 'scripted/friendly',
  tools: ['count_stock'],
})
const { text } = await holdfast.messages.ask({ agent, text: 'How much tea is there?' })
console.log(text)
await holdfast.close()
