import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunId } from '../../src/core/id.ts'
import { serveFixture } from './fixture-resource-server.ts'
import { answerOf, PIECES, readAfterPause } from './paused-readers.ts'

/** More could not be read to the end within the 30 seconds of a stall on a busy machine. */
const READERS = 25
/** With these pieces the answer is larger than the kernel's buffers of a connection. */
const LARGE_PIECE = 2_000

test('a client that pauses in a long answer gets every piece of it and the end', async (t) => {
  const { fixture, client } = await serveFixture(t, { script: answerOf(40) })
  const stream = await client.agents.messages.create(fixture.agent.id, {
    input: 'go',
    streaming: true,
    stream_tokens: true,
  })
  const numbers: number[] = []
  const types: string[] = []
  for await (const event of stream) {
    types.push(String(event.message_type))
    if (event.message_type !== 'assistant_message') continue
    numbers.push(Number((event as { seq_id?: number }).seq_id))
    if (numbers.length === 10) await fixture.wait((event as { run_id?: unknown }).run_id as RunId)
  }
  assert.deepEqual(
    numbers,
    Array.from({ length: PIECES }, (_, index) => index + 1),
  )
  assert.deepEqual(types.slice(-2), ['stop_reason', 'usage_statistics'])
})

test('paused readers cost no more than the buffers of their sockets, and each gets everything when it goes on', async (t) => {
  const read = await readAfterPause(t, { count: READERS, chunkSize: LARGE_PIECE })
  assert.ok(read < READERS * PIECES, 'a full socket stops the reading')
})
