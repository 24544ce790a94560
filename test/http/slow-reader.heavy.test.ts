import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { test } from 'node:test'
import { MAX_READER_BACKLOG } from '../../src/live/fan-out.ts'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { serveFixture } from './fixture-resource-server.ts'
import { KEY } from './fixture-server-process.ts'

const auth = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }

/** More than the kernel buffers on both sides can hold. */
const MANY = 60_000

test('a slow reader is disconnected at a limit, does not slow down others, and can resume where it was', async (t) => {
  const script = scriptOf({ text: 'x'.repeat(MANY), pace: { chunkSize: 1, delayMs: 0 } })
  const { fixture, client } = await serveFixture(t, { script })
  const runId = await fixture.send('go', { streamTokens: true })
  const asked = request(`${client.baseURL}/v1/runs/${runId}/stream`, { method: 'POST', headers: auth, agent: false })
  asked.end()
  const [lazy] = await once(asked, 'response')
  assert.equal((await fixture.wait(runId)).status, 'completed')

  const seen = await numbersIn(lazy)
  assert.ok(!seen.text.includes('[DONE]'), 'the stream did not end with [DONE]')
  assert.ok(seen.numbers.length < MANY - MAX_READER_BACKLOG, 'it did not get the whole stream')
  const last = seen.numbers.at(-1)!
  const again = await fetch(`${client.baseURL}/v1/runs/${runId}/stream`, {
    method: 'POST',
    headers: auth,
    body: JSON.stringify({ starting_after: last, include_pings: false }),
  })
  const rest = await numbersIn(again.body!)
  assert.equal(rest.numbers[0], last + 1)
  assert.equal(seen.numbers.length + rest.numbers.length, MANY)
  assert.ok(rest.text.endsWith('data: [DONE]\n\n'))
})

async function numbersIn(body: AsyncIterable<Uint8Array>): Promise<{ text: string; numbers: number[] }> {
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  const text = Buffer.concat(pieces).toString()
  const told = [...text.matchAll(/^data: (\{.*"message_type":"assistant_message".*\})$/gm)]
  return { text, numbers: told.map(([, json]) => (JSON.parse(json!) as { seq_id: number }).seq_id) }
}
