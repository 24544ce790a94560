import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPostgres } from '../harness/postgres.ts'
import { type Heard, heard, history, MODES, sendIn, typesIn } from './send-modes.ts'
import { serveFor } from './served.ts'

const POSTCARD = { id: 'call-card', name: 'send_postcard', arguments: { to: 'Ada', message: 'hi' } }
const SLOW = { text: 'abcdefghij'.repeat(30), pace: { everyMs: 15, charactersPerChunk: 5 } }

test('on PostgreSQL every mode sends, asks, is never run twice, and goes on after kill -9', async (t) => {
  const database = await startPostgres()
  if ('skip' in database) return t.skip(database.skip)
  t.after(() => database.stop())
  const { client, agentId, simulator, kill, start } = await serveFor(t, { environment: { DATABASE_URL: database.url } })
  for (const mode of MODES) {
    simulator.script({ when: { attempt: 1 }, answer: { calls: [POSTCARD] } }, { answer: { text: 'Sent.' } })
    const body = { messages: [{ role: 'user', content: 'Send it', otid: crypto.randomUUID() }] }
    const asked = await sendIn(mode, client, { agentId, body })
    assert.equal(asked.stopReason, 'requires_approval', mode)
    assert.equal((await sendIn(mode, client, { agentId, body })).runId, asked.runId, mode)
    const approvals = [{ type: 'approval', tool_call_id: 'call-card', approve: true }]
    const answered = await sendIn(mode, client, { agentId, body: { messages: [{ type: 'approval', approvals }] } })
    assert.deepEqual(typesIn(answered.messages), ['tool_return_message', 'assistant_message'], mode)
    const again = await heard(await client.runs.messages.stream(answered.runId, {}))
    assert.deepEqual(typesIn(again.messages), typesIn(answered.messages), mode)
  }

  simulator.script({ answer: SLOW })
  const body = { input: 'Tell me', streaming: true, stream_tokens: true }
  const stream = (await client.agents.messages.create(agentId, body as never)) as unknown as AsyncIterable<Heard>
  const before: Heard[] = []
  await assert.rejects(async () => {
    for await (const event of stream) if (before.push(event) === 8) await kill()
    throw new Error('the stream ended as if nothing had happened')
  })
  await start()
  const { run_id, seq_id } = before.at(-1)
  const rest = await heard(await client.runs.messages.stream(run_id, { starting_after: seq_id }))
  assert.equal(rest.stopReason, 'end_turn')
  const answer = (await history(client, agentId)).at(-1)
  assert.equal(answer.content, SLOW.text)
  assert.equal(rest.messages.at(-1).otid, answer.otid)
})
