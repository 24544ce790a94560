import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { DONE, delta, onlyFailure, providerAt, REQUEST, read, STOP } from './testing/chat-client.ts'
import { CHUNKED_HEAD, chunked, LAST_CHUNK, openLoopback } from './testing/loopback.ts'

test('silence in mid-answer ends at the stall deadline', async (context) => {
  const server = await openLoopback(context, ({ socket }) => {
    socket.write(CHUNKED_HEAD + chunked(delta('so ')))
  })
  const from = performance.now()
  const failure = onlyFailure(await read(providerAt(server.url, { deadlines: { stallMs: 300 } })))
  assert.equal(failure.kind, 'stalled')
  assert.equal(failure.code, 'between-chunks')
  assert.equal(failure.mayHaveBeenAccepted, true)
  assert.ok(performance.now() - from >= 299)
})

test('a stream that goes silent after its finish is complete', async (context) => {
  const server = await openLoopback(context, ({ socket }) => {
    socket.write(CHUNKED_HEAD + chunked(delta('so ') + STOP))
  })
  const parts = await read(providerAt(server.url, { deadlines: { stallMs: 100 } }))
  assert.deepEqual(parts.at(-1), { type: 'finish', finish: 'stop' })
})

test('a silent server ends at the first-byte deadline, whether or not it sent its headers', async (context) => {
  for (const head of ['', CHUNKED_HEAD]) {
    const server = await openLoopback(context, ({ socket }) => {
      socket.write(head)
    })
    const deadlines = { firstByteMs: 200, stallMs: 50 }
    const failure = onlyFailure(await read(providerAt(server.url, { deadlines })))
    assert.equal(failure.kind, 'timeout')
    assert.equal(failure.code, 'first-byte')
    assert.equal(failure.mayHaveBeenAccepted, true)
  }
})

test('a connection that is never established ends at the connect deadline', async (context) => {
  // TLS to a server that never answers: the handshake belongs to the connect phase.
  const server = await openLoopback(context, () => {})
  const deadlines = { connectMs: 200, firstByteMs: 60_000 }
  const provider = providerAt(`https://127.0.0.1:${server.port}`, { deadlines })
  const failure = onlyFailure(await read(provider))
  assert.equal(failure.kind, 'timeout')
  assert.equal(failure.code, 'connect')
  assert.equal(failure.mayHaveBeenAccepted, undefined)
  await provider.renewConnections?.()
})

test('pings keep a stream alive for five stall deadlines and no longer', async (context) => {
  const time = countedTime()
  const server = await openLoopback(context, async ({ socket }) => {
    socket.write(CHUNKED_HEAD)
    while (!socket.destroyed) await time.pass(20, () => socket.write(chunked(': still here\n\n')))
  })
  const failure = onlyFailure(await read(providerAt(server.url, { clock: time.clock, deadlines: { stallMs: 200 } })))
  assert.equal(failure.kind, 'stalled')
  assert.match(failure.detail, /pings/)
  assert.ok(time.clock.monotonic() >= 1_000)
})

test('progress between pings keeps a slow stream alive', async (context) => {
  const time = countedTime()
  const server = await openLoopback(context, async ({ socket }) => {
    socket.write(CHUNKED_HEAD)
    for (let count = 1; count <= 30; count++) {
      const piece = count % 6 === 0 ? delta(`${count} `) : ': still here\n\n'
      await time.pass(20, () => socket.write(chunked(piece)))
    }
    socket.write(chunked(STOP + DONE) + LAST_CHUNK)
  })
  const parts = await read(providerAt(server.url, { clock: time.clock, deadlines: { stallMs: 100 } }))
  assert.equal(parts.at(-1)?.type, 'finish')
  assert.equal(time.clock.monotonic(), 600)
})

/** A clock that advances only between two pieces of an answer, independent of the speed of the machine. */
function countedTime() {
  let now = 0
  let looked = () => {}
  const monotonic = () => {
    looked()
    return now
  }
  return {
    clock: { monotonic },
    /** Sends a piece and waits until the exchange reads the clock, which it does for every piece. */
    async pass(ms: number, send: () => void): Promise<void> {
      now += ms
      const { promise, resolve } = Promise.withResolvers<void>()
      looked = resolve
      send()
      await promise
    },
  }
}

test('an abort closes the socket at once and ends the stream without a part', async (context) => {
  const moments: [string, string][] = [
    ['before the head', ''],
    ['after the head', CHUNKED_HEAD],
    ['in mid-answer', CHUNKED_HEAD + chunked(delta('so '))],
  ]
  for (const [moment, sent] of moments) {
    const abort = new AbortController()
    let closed: Promise<unknown> | undefined
    const server = await openLoopback(context, ({ socket }) => {
      closed = once(socket, 'close')
      socket.write(sent, () => setTimeout(() => abort.abort(), 20))
    })
    const parts = await read(providerAt(server.url), abort.signal)
    assert.ok(
      parts.every((part) => part.type === 'text-delta'),
      moment,
    )
    await closed
  }
})

test('a stream whose signal is already aborted sends no request', async (context) => {
  const server = await openLoopback(context, () => {})
  assert.deepEqual(await read(providerAt(server.url), AbortSignal.abort()), [])
  assert.equal(server.connections.length, 0)
})

test('a reader that stops early closes the socket', async (context) => {
  let closed: Promise<unknown> | undefined
  const server = await openLoopback(context, ({ socket }) => {
    closed = once(socket, 'close')
    socket.write(CHUNKED_HEAD + chunked(delta('one') + delta('two')))
  })
  for await (const _ of providerAt(server.url).stream(REQUEST, { signal: new AbortController().signal })) break
  await closed
})

test('a slow reader causes backpressure and is not reported as a stall', async (context) => {
  const piece = chunked(delta('x'.repeat(1_000)).repeat(64))
  const pieces = 512
  let written = 0
  const server = await openLoopback(context, async ({ socket }) => {
    socket.write(CHUNKED_HEAD)
    for (; written < pieces; written++) if (!socket.write(piece)) await once(socket, 'drain')
    socket.write(chunked(STOP + DONE) + LAST_CHUNK)
  })
  let texts = 0
  const stream = providerAt(server.url, { deadlines: { stallMs: 800 } }).stream(REQUEST, {
    signal: new AbortController().signal,
  })
  for await (const part of stream) {
    if (part.type === 'text-delta') texts++
    if (texts === 1 && part.type === 'text-delta') {
      const rest = () => new Promise((resolve) => setTimeout(resolve, 1_000))
      await rest()
      const before = written
      await rest()
      assert.equal(written, before, 'the server was not held back')
      assert.ok(written < pieces)
    }
    assert.notEqual(part.type, 'failure', JSON.stringify(part))
  }
  assert.equal(texts, 64 * pieces)
})

test('parts that arrived unread are dropped after an abort', async (context) => {
  const abort = new AbortController()
  const server = await openLoopback(context, ({ socket }) => {
    socket.write(CHUNKED_HEAD + chunked(delta('one') + delta('two') + delta('three')))
  })
  const parts = []
  for await (const part of providerAt(server.url).stream(REQUEST, { signal: abort.signal })) {
    parts.push(part)
    abort.abort()
  }
  assert.deepEqual(parts, [{ type: 'text-delta', text: 'one' }])
})

test('an answer with a content-encoding that was not requested is malformed', async (context) => {
  const server = await openLoopback(context, ({ socket }) => {
    socket.write(CHUNKED_HEAD.replace('x-request-id: request-7', 'content-encoding: gzip'))
  })
  const failure = onlyFailure(await read(providerAt(server.url)))
  assert.equal(failure.kind, 'malformed-answer')
  assert.match(failure.detail, /gzip/)
})
