import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { serveFixture } from './fixture-resource-server.ts'
import { KEY } from './fixture-server-process.ts'

const auth = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }

/** More than the kernel buffers on both sides can hold. */
const MANY = 60_000

test('a reader that takes nothing for 30 seconds is disconnected without [DONE], and can resume where it was', async (t) => {
  const script = scriptOf({ text: 'x'.repeat(MANY), pace: { chunkSize: 1, delayMs: 0 } })
  const { fixture, client } = await serveFixture(t, { script })
  const runId = await fixture.send('go', { streamTokens: true })
  const asked = request(`${client.baseURL}/v1/runs/${runId}/stream`, { method: 'POST', headers: auth, agent: false })
  asked.end()
  const [lazy] = await once(asked, 'response')
  assert.equal((await fixture.wait(runId)).status, 'completed')
  const openStreams = async () => {
    const metrics = await (await fetch(`${client.baseURL}/metrics`, { headers: auth })).text()
    return /^holdfast_streams_open (\d+)$/m.exec(metrics)?.[1]
  }
  assert.equal(await openStreams(), '1')
  while ((await openStreams()) !== '0') await pause(500)

  const seen = await numbersIn(lazy)
  assert.ok(!seen.text.includes('[DONE]'), 'the stream did not end with [DONE]')
  const last = seen.numbers.at(-1)!
  assert.ok(last < MANY, 'it did not get the whole stream')
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

/** The complete events; the connection may end in the middle of one. */
async function numbersIn(body: AsyncIterable<Uint8Array>): Promise<{ text: string; numbers: number[] }> {
  const pieces: Uint8Array[] = []
  try {
    for await (const piece of body) pieces.push(piece)
  } catch (fault) {
    assert.match(String(fault), /aborted|ECONNRESET/)
  }
  const text = Buffer.concat(pieces).toString()
  const told = [...text.matchAll(/^data: (\{.*"message_type":"assistant_message".*\})$/gm)]
  return { text, numbers: told.map(([, json]) => (JSON.parse(json!) as { seq_id: number }).seq_id) }
}
