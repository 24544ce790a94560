// A model provider of your own: it streams parts. Holdfast does retries, failover and persistence around it.
import { defineProvider, openHoldfast } from 'holdfast'

const shout = defineProvider({
  async *stream({ messages }, { signal }) {
    const last = messages.at(-1)
    const part = last?.role === 'user' ? last.content[0] : undefined
    for (const word of (part?.type === 'text' ? part.text : '').toUpperCase().split(' ')) {
      // When the signal aborts (a cancel, a shutdown), end the stream soon.
      if (signal.aborted) return
      yield { type: 'text-delta', text: `${word} ` }
    }
    // What a person reads on the run. A failure is a part, too: { type: 'failure', failure: { kind: 'overloaded', detail: '…' } }.
    yield { type: 'usage', usage: { promptTokens: 1, completionTokens: 1 } }
    yield { type: 'finish', finish: 'stop' }
  },
})

const holdfast = await openHoldfast({
  home: process.env.HOLDFAST_HOME ?? './holdfast-home',
  providers: { shout },
})
const agent = await holdfast.agents.create({
  name: `shouter-${Date.now()}`,
  model: 'shout/any',
  // Models that answer when the first one fails.
  fallback: ['scripted/friendly'],
  tools: [],
})
const { text } = await holdfast.messages.ask({ agent, text: 'nothing is lost' })
console.log(text)
await holdfast.close()
