import assert from 'node:assert/strict'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { Agent, request } from 'undici'
import type { FailureKind } from '../../core/failure.ts'
import { classifyTransport, type TransportPhase } from './classify.ts'

const PHASES: readonly TransportPhase[] = ['connect', 'first-byte', 'between-chunks', 'body']

const TABLE: readonly [string, readonly [FailureKind, FailureKind, FailureKind, FailureKind]][] = [
  ['UND_ERR_CONNECT_TIMEOUT', ['unreachable', 'unreachable', 'unreachable', 'unreachable']],
  ['ECONNREFUSED', ['unreachable', 'unreachable', 'unreachable', 'unreachable']],
  ['ENOTFOUND', ['unreachable', 'unreachable', 'unreachable', 'unreachable']],
  ['EAI_AGAIN', ['unreachable', 'unreachable', 'unreachable', 'unreachable']],
  ['UND_ERR_HEADERS_TIMEOUT', ['unreachable', 'timeout', 'stalled', 'stalled']],
  ['UND_ERR_BODY_TIMEOUT', ['unreachable', 'timeout', 'stalled', 'stalled']],
  ['ETIMEDOUT', ['unreachable', 'timeout', 'stalled', 'stalled']],
  ['UND_ERR_SOCKET', ['unreachable', 'unreachable', 'cut-off', 'cut-off']],
  ['ECONNRESET', ['unreachable', 'unreachable', 'cut-off', 'cut-off']],
  ['EPIPE', ['unreachable', 'unreachable', 'cut-off', 'cut-off']],
  ['CERT_HAS_EXPIRED', Array(4).fill('certificate-rejected') as never],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', Array(4).fill('certificate-rejected') as never],
  ['ERR_TLS_CERT_ALTNAME_INVALID', Array(4).fill('certificate-rejected') as never],
]

for (const [code, kinds] of TABLE) {
  test(`${code} is ${[...new Set(kinds)].join(' or ')}, depending on the phase`, () => {
    for (const [index, phase] of PHASES.entries()) {
      const failure = classifyTransport(coded(code), phase)
      assert.equal(failure.kind, kinds[index], phase)
      assert.equal(failure.code, code)
    }
  })
}

test('a request that was sent may have been accepted; one that could not be sent was not', () => {
  assert.equal(classifyTransport(coded('ECONNRESET'), 'first-byte').mayHaveBeenAccepted, true)
  assert.equal(classifyTransport(coded('UND_ERR_HEADERS_TIMEOUT'), 'first-byte').mayHaveBeenAccepted, true)
  assert.equal(classifyTransport(coded('ECONNRESET'), 'connect').mayHaveBeenAccepted, undefined)
  assert.equal(classifyTransport(coded('ECONNREFUSED'), 'first-byte').mayHaveBeenAccepted, undefined)
  assert.equal(classifyTransport(coded('CERT_HAS_EXPIRED'), 'first-byte').mayHaveBeenAccepted, undefined)
})

test('the code is found through five causes and among the attempts of an aggregate', () => {
  let error: Error = coded('DEPTH_ZERO_SELF_SIGNED_CERT')
  for (let depth = 0; depth < 5; depth++) error = new TypeError('fetch failed', { cause: error })
  assert.equal(classifyTransport(error, 'connect').kind, 'certificate-rejected')
  const both = new AggregateError([coded('ECONNREFUSED'), coded('ENETUNREACH')], 'all failed')
  const failure = classifyTransport(new TypeError('fetch failed', { cause: both }), 'first-byte')
  assert.deepEqual(
    [failure.kind, failure.code, failure.mayHaveBeenAccepted],
    ['unreachable', 'ECONNREFUSED', undefined],
  )
})

test('a cycle of causes ends, and no thrown value makes the classifier throw', () => {
  const circle = new Error('round') as Error & { cause: unknown }
  circle.cause = circle
  assert.equal(classifyTransport(circle, 'between-chunks').kind, 'cut-off')
  const hostile = Object.defineProperty({}, 'message', {
    get() {
      throw new Error('no')
    },
  })
  assert.equal(classifyTransport(hostile, 'connect').kind, 'unreachable')
  assert.equal(classifyTransport(coded('constructor'), 'body').kind, 'cut-off')
  fc.assert(
    fc.property(fc.anything(), fc.constantFrom(...PHASES), (error, phase) => {
      const failure = classifyTransport(error, phase)
      assert.ok(failure.detail.length > 0 && failure.detail.length <= 500)
    }),
  )
})

test('the detail names the error and the phase, without keys', () => {
  const error = new TypeError('fetch failed', { cause: new Error('bad header Bearer sk-live-1234567890abcdef') })
  assert.equal(classifyTransport(error, 'connect').detail, 'bad header [secret] (while connecting)')
})

test('a port without a listener is unreachable', async () => {
  const server = await listen(createServer())
  const { port } = server.address() as AddressInfo
  await new Promise((closed) => server.close(closed))
  const error = await failureOf(`http://127.0.0.1:${port}/`, new Agent())
  const failure = classifyTransport(error, 'first-byte')
  assert.deepEqual([failure.kind, failure.mayHaveBeenAccepted], ['unreachable', undefined])
})

test('a server that closes the connection before it answers is unreachable, and may have received the request', async () => {
  const server = await listen(createServer((socket) => socket.once('data', () => socket.resetAndDestroy())))
  const error = await failureOf(urlOf(server), new Agent())
  server.close()
  const failure = classifyTransport(error, 'first-byte')
  assert.deepEqual([failure.kind, failure.mayHaveBeenAccepted], ['unreachable', true])
})

test('a server that never answers is a timeout', async () => {
  const sockets: Socket[] = []
  const server = await listen(createServer((socket) => void sockets.push(socket)))
  const error = await failureOf(urlOf(server), new Agent({ headersTimeout: 50 }))
  for (const socket of sockets) socket.destroy()
  server.close()
  assert.equal(classifyTransport(error, 'first-byte').kind, 'timeout')
})

test('an answer that breaks off is cut off, and an answer that goes silent has stalled', async () => {
  const server = createHttpServer((incoming, answer) => {
    answer.writeHead(200, { 'content-length': '100' })
    answer.write('half')
    if (incoming.url === '/cut') setImmediate(() => answer.destroy())
  })
  await listen(server)
  const cut = await failureOf(`${urlOf(server)}cut`, new Agent())
  const silent = await failureOf(urlOf(server), new Agent({ bodyTimeout: 50 }))
  server.closeAllConnections()
  server.close()
  assert.equal(classifyTransport(cut, 'between-chunks').kind, 'cut-off')
  assert.equal(classifyTransport(silent, 'between-chunks').kind, 'stalled')
})

function coded(code: string): Error {
  return Object.assign(new Error(`something about ${code}`), { code })
}

async function listen<AnyServer extends Server>(server: AnyServer): Promise<AnyServer> {
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  return server
}

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`

/** The error that undici throws, before or during the body. */
async function failureOf(url: string, dispatcher: Agent): Promise<unknown> {
  try {
    const { body } = await request(url, { dispatcher })
    await body.text()
  } catch (error) {
    return error
  } finally {
    await dispatcher.destroy()
  }
  return assert.fail('it should have failed')
}
