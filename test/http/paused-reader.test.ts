import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { RunId } from '../../src/core/id.ts'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { type ResourceServerFixture, serveFixture } from './fixture-resource-server.ts'
import { KEY } from './fixture-server-process.ts'

const PIECES = 3_000
const answerOf = (chunkSize: number) =>
  scriptOf({ text: 'x'.repeat(PIECES * chunkSize), pace: { chunkSize, delayMs: 0 } })
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
  const served = await serveFixture(t, { script: answerOf(LARGE_PIECE) })
  const { fixture } = served
  const subscriptions = countSubscriptions(served)
  const runId = await fixture.send('go', { streamTokens: true })
  const before = usedMemory()
  const readers = Array.from({ length: READERS }, () => openPaused(t, served, runId))
  await fixture.wait(runId)
  while (subscriptions.opened < readers.length || subscriptions.open > 0) await pause(10)
  assert.ok(subscriptions.read < readers.length * PIECES, 'a full socket stops the reading')
  const perReader = (usedMemory() - before) / readers.length
  assert.ok(perReader < 256 * 1024, `${perReader} bytes for each reader`)
  const pieces = await Promise.all(readers.map(countPieces))
  assert.deepEqual(new Set(pieces), new Set([PIECES]))
})

/** A request whose response is not read until `countPieces` reads it. */
function openPaused(t: TestContext, { client }: ResourceServerFixture, runId: string): Socket {
  const { hostname, port } = new URL(client.baseURL)
  const socket = connect(Number(port), hostname)
  t.after(() => socket.destroy())
  const head = [
    `POST /v1/runs/${runId}/stream HTTP/1.1`,
    `host: ${hostname}`,
    `authorization: Bearer ${KEY}`,
    'content-length: 0',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  return socket
}

/** The pieces up to `[DONE]`; fails if the connection ends before. */
async function countPieces(socket: Socket): Promise<number> {
  let count = 0
  let rest = ''
  for await (const piece of socket) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop()!
    for (const line of lines) {
      if (line.includes('"message_type":"assistant_message"')) count++
      if (line === 'data: [DONE]') return count
    }
  }
  throw new Error(`the connection ended after ${count} pieces, before [DONE]`)
}

/** Memory in use by objects and buffers after a garbage collection. */
function usedMemory(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function countSubscriptions({ fixture }: ResourceServerFixture): { open: number; opened: number; read: number } {
  const counts = { open: 0, opened: 0, read: 0 }
  const { streams } = fixture.context.deps
  fixture.context.deps.streams = {
    ...streams,
    async *watch(runId, options) {
      counts.open++
      counts.opened++
      try {
        for await (const chunk of streams.watch(runId, options)) {
          counts.read++
          yield chunk
        }
        return options.signal.aborted ? 'stopped' : 'done'
      } finally {
        counts.open--
      }
    },
  }
  return counts
}
