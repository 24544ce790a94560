import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { type ResourceServerFixture, serveFixture } from './fixture-resource-server.ts'
import { KEY } from './fixture-server-process.ts'

/** Pieces of the answer that paused readers read. */
export const PIECES = 3_000

export const answerOf = (chunkSize: number) =>
  scriptOf({ text: 'x'.repeat(PIECES * chunkSize), pace: { chunkSize, delayMs: 0 } })

/**
 * Opens readers that take nothing until the run is over. While they pause they hold no subscription and little memory;
 * then each gets every piece and the end. Returns how many chunks the server had read for them when they went on.
 */
export async function readAfterPause(
  t: TestContext,
  { count, chunkSize }: { count: number; chunkSize: number },
): Promise<number> {
  const served = await serveFixture(t, { script: answerOf(chunkSize) })
  const { fixture } = served
  const subscriptions = countSubscriptions(served)
  const runId = await fixture.send('go', { streamTokens: true })
  const before = usedMemory()
  const readers = Array.from({ length: count }, () => openPaused(t, served, runId))
  await fixture.wait(runId)
  while (subscriptions.opened < readers.length || subscriptions.open > 0) await pause(10)
  const { read } = subscriptions
  const perReader = (usedMemory() - before) / readers.length
  assert.ok(perReader < 256 * 1024, `${perReader} bytes for each reader`)
  const pieces = await Promise.all(readers.map(countPieces))
  assert.deepEqual(new Set(pieces), new Set([PIECES]))
  return read
}

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
