import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tool } from '../harness/tools.ts'
import { serveDialects } from './fixture-dialects.ts'
import { readStream, typesIn, type WireValue } from './send-modes.ts'

const ARGUMENTS = { path: 'notes.txt', content: 'a text that is longer than one piece of any vendor' }
/** Gemini sends each call whole. */
const MODELS: Record<string, { pieces: number }> = {
  'chat/model': { pieces: 4 },
  'responses/gpt-5': { pieces: 4 },
  'claude/claude-haiku-4-5': { pieces: 4 },
  'vertex/gemini-2.5-flash': { pieces: 1 },
}

for (const [model, { pieces }] of Object.entries(MODELS))
  for (const needsApproval of [false, true])
    test(`${model}: the official client reads ${needsApproval ? 'a guarded' : 'a'} call in pieces, whole in steps, and can resume between them`, async (context) => {
      const write = tool('write', undefined, { needsApproval })
      const { client, simulator, fixture } = await serveDialects(context, { tools: [write] })
      const type = needsApproval ? 'approval_request_message' : 'tool_call_message'
      const isCall = ({ message_type }: WireValue) => message_type === type
      const ask = async (stream_tokens: boolean) => {
        const agent = await client.agents.create({ model, tools: ['write'], include_base_tools: false } as never)
        simulator.script(
          {
            when: { attempt: 1 },
            answer: {
              text: 'Now.',
              calls: [{ id: 'call-1', name: 'write', json: JSON.stringify(ARGUMENTS, null, 2) }],
            },
          },
          { answer: { text: 'Done.' } },
        )
        const sent = { input: 'write', streaming: true, stream_tokens } as const
        return readStream(await client.agents.messages.create(agent.id, sent))
      }
      const streamed = await ask(true)
      const told = streamed.events.filter(isCall)
      assert.ok(told.length >= pieces, `${told.length} pieces`)
      assert.ok(told.every((event) => event.tool_call.tool_call_id === told[0].tool_call.tool_call_id))
      assert.ok(told.every((event) => event.id === told[0].id && event.otid === told[0].otid))
      assert.deepEqual(told[0].tool_call, told[0].tool_calls)
      assert.equal(told[0].tool_call.name, 'write')
      assert.ok(told.slice(1).every((event) => event.tool_call.name === null))
      assert.equal(told.map((event) => event.tool_call.arguments).join(''), JSON.stringify(ARGUMENTS))
      const numbers = streamed.events.flatMap(({ seq_id }) =>
        typeof seq_id === 'number' && seq_id > 0 ? [seq_id] : [],
      )
      assert.equal(new Set(numbers).size, numbers.length)

      const run = await fixture.get(streamed.runId as never)
      const kept: WireValue[] = (await client.agents.messages.list(run.agentId)).getPaginatedItems()
      assert.deepEqual(
        kept.filter(isCall).map(({ otid, id, tool_calls }) => ({ otid, id, tool_calls })),
        [
          {
            otid: told[0].otid,
            id: told[0].id,
            tool_calls: [{ ...told[0].tool_call, arguments: JSON.stringify(ARGUMENTS) }],
          },
        ],
      )
      for (const { seq_id } of told) {
        const rest = await readStream(await client.runs.messages.stream(run.id, { starting_after: seq_id }))
        const wanted = streamed.events.filter((event) => event.seq_id > seq_id && event.message_type !== 'ping')
        assert.deepEqual(
          rest.events.filter(({ message_type }) => message_type !== 'ping'),
          wanted,
        )
      }

      const steps = await ask(false)
      assert.deepEqual(typesIn(steps.messages), typesIn(streamed.messages))
      const whole = steps.events.filter(isCall)
      assert.equal(whole.length, 1)
      assert.equal(whole[0].tool_calls[0].arguments, JSON.stringify(ARGUMENTS))
    })
