/**
 * The quick start of the official client, as it is documented, against Holdfast. Start a server (`holdfast serve`) and set
 * LETTA_BASE_URL and LETTA_API_KEY; nothing else is needed:
 *
 *   LETTA_BASE_URL=http://127.0.0.1:8283 LETTA_API_KEY=$(cat ~/.holdfast/api-key) node examples/quick-start.ts
 */
import Letta from '@letta-ai/letta-client'

const client = new Letta()

const agent = await client.agents.create({
  name: 'quick-start',
  model: process.env.QUICK_START_MODEL ?? 'scripted/friendly',
  tools: ['slow_count'],
  memory_blocks: [
    { label: 'human', value: 'The human’s name is Ada. She likes tea.' },
    { label: 'persona', value: 'I am a helpful agent that stays.' },
  ],
})
console.log(`agent ${agent.id}`)

const response = await client.agents.messages.create(agent.id, { input: 'Hello! What can you do?' })
for (const message of response.messages)
  if (message.message_type === 'assistant_message') console.log(`blocking: ${textOf(message.content)}`)
console.log(`it stopped: ${response.stop_reason.stop_reason}, ${response.usage.total_tokens} tokens`)

const stream = await client.agents.messages.create(agent.id, {
  messages: [{ role: 'user', content: 'Count to 3, please.' }],
  streaming: true,
  stream_tokens: true,
})
for await (const event of stream) {
  if (event.message_type === 'assistant_message') process.stdout.write(textOf(event.content))
  if (event.message_type === 'tool_call_message') console.log(`\n→ ${event.tool_call.name}`)
  if (event.message_type === 'stop_reason') console.log(`\nit stopped: ${event.stop_reason}`)
}

// A failure has the class the client's documentation names, and says what was wrong.
await client.agents.retrieve(`agent-${crypto.randomUUID()}`).catch((error) => {
  if (!(error instanceof Letta.APIError)) throw error
  console.log(`${error.name}: ${error.status}`)
})

for await (const run of client.runs.list({ agent_id: agent.id })) console.log(`${run.id} ${run.status}`)

function textOf(content: string | { text: string }[]): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('')
}
