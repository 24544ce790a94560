import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { realClock as clock } from '../../src/config/real-clock.ts'
import { agentWithPassages } from './agent-with-passages.ts'
import { type KeyedServerFixture, serveKeyed } from './fixture-keyed-server.ts'
import { KEY } from './fixture-server-process.ts'

const MEGABYTE = 1_048_576
const soon = () => clock.sleep(10, new AbortController().signal)

/** Sends the bytes, and collects what the server answers. */
function opened(context: TestContext, { url }: Pick<KeyedServerFixture, 'url'>, bytes: string | Buffer) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  context.after(() => socket.destroy())
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  socket.write(bytes)
  return { socket, received: () => received }
}

/** A request whose answer is never read. */
function unread(context: TestContext, { url }: Pick<KeyedServerFixture, 'url'>, request: string): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  context.after(() => socket.destroy())
  socket.on('error', () => {})
  socket.pause()
  socket.write(request)
  return socket
}

const head = (line: string, headers: string[]) =>
  `${[`${line} HTTP/1.1`, 'host: 127.0.0.1', ...headers].join('\r\n')}\r\n\r\n`
const withKey = (key: string, line: string, ...headers: string[]) =>
  head(line, [`authorization: Bearer ${key}`, ...headers])

test('one key that reads no answers holds a bounded number of bytes: further requests get 429, other keys are served', async (context) => {
  const served = await serveKeyed(context, { limits: { bytesInFlightPerKey: 12 * MEGABYTE } })
  const { as, makeKey } = served
  const agent = await agentWithPassages(served, { count: 2, size: 9 * MEGABYTE })
  const [greedy, other] = [await makeKey({ scope: 'read' }), await makeKey({ scope: 'read' })]
  const list = `/v1/agents/${agent}/archival-memory?limit=40`
  const sockets = Array.from({ length: 8 }, () => unread(context, served, withKey(greedy.key, `GET ${list}`)))
  let refused = await as(greedy.key)('GET', '/v1/agents')
  while (refused.status === 200) {
    await soon()
    refused = await as(greedy.key)('GET', '/v1/agents')
  }
  assert.equal(refused.status, 429)
  assert.equal(refused.headers.get('retry-after'), '1')
  assert.match((refused.body as { detail: string }).detail, /12582912 bytes .*limits\.bytes_in_flight_per_key/)
  assert.equal((await as(other.key)('GET', list)).status, 200)
  assert.equal((await fetch(`${served.url}/v1/health`)).status, 200)
  for (const socket of sockets) socket.destroy()
  while ((await as(greedy.key)('GET', '/v1/agents')).status === 429) await soon()
})

test('the answers of all keys together are bounded: others get 503, the key of the home has a reserve', async (context) => {
  const served = await serveKeyed(context, { limits: { bytesInFlight: 12 * MEGABYTE } })
  const { as, makeKey, makeOrganization } = served
  const agent = await agentWithPassages(served, { count: 1, size: 9 * MEGABYTE })
  const read = `/v1/agents/${agent}/archival-memory?limit=1`
  const keys = [await makeKey({ scope: 'read' }), await makeKey({ scope: 'read' })]
  const elsewhere = await makeKey({ scope: 'read', organization_id: await makeOrganization('Elsewhere') })
  unread(context, served, withKey(keys[0]!.key, `GET ${read}`))
  let second = await as(keys[1]!.key)('GET', '/v1/agents')
  while (second.status === 200) {
    await soon()
    second = await as(keys[1]!.key)('GET', '/v1/agents')
  }
  assert.equal(second.status, 429)
  assert.match((second.body as { detail: string }).detail, /This organization has 6291456 bytes/)
  assert.equal((await as(elsewhere.key)('GET', '/v1/agents')).status, 200, 'another organization has its own half')
  unread(context, served, withKey(KEY, `GET ${read}`))
  let third = await as(elsewhere.key)('GET', '/v1/agents')
  while (third.status === 200) {
    await soon()
    third = await as(elsewhere.key)('GET', '/v1/agents')
  }
  assert.equal(third.status, 503)
  assert.equal(third.headers.get('retry-after'), '1')
  assert.match((third.body as { detail: string }).detail, /limits\.bytes_in_flight\)/)
})

test('an answer that the client does not read ends its connection, and one that it reads slowly does not', async (context) => {
  const limits = { stalledAnswerMs: 400, bytesInFlight: 200 * MEGABYTE, bytesInFlightPerKey: 200 * MEGABYTE }
  const served = await serveKeyed(context, { limits })
  const agent = await agentWithPassages(served, { count: 1, size: 9 * MEGABYTE })
  const line = `GET /v1/agents/${agent}/archival-memory`
  // One answer may fit into the buffers of the kernel (32 MB and more for a receiver on loopback); eight do not.
  const lazy = unread(context, served, withKey(KEY, line).repeat(8))
  const slow = unread(context, served, withKey(KEY, line, 'connection: close'))
  let size = 0
  slow.on('data', (chunk) => {
    size += chunk.length
    slow.pause()
    setTimeout(() => slow.resume(), 5)
  })
  slow.resume()
  await once(slow, 'end')
  assert.ok(size > 9 * MEGABYTE, `${size} bytes`)
  // The client only sees the end of a connection that it reads.
  let lazySize = 0
  lazy.on('data', (chunk) => {
    lazySize += chunk.length
  })
  lazy.resume()
  await once(lazy, 'close')
  assert.ok(lazySize < 8 * 9 * MEGABYTE, `${lazySize} bytes`)
})

test('a form is refused by its headers where no file belongs, and the client sees the answer', async (context) => {
  const served = await serveKeyed(context)
  const { key } = await served.makeKey({ scope: 'read' })
  const form = ['content-type: multipart/form-data; boundary=x', 'content-length: 60000000']
  // Not a byte of the body is sent: the headers decide.
  const { received } = opened(context, served, withKey(key, 'POST /v1/messages/search', ...form))
  while (!received().includes('not supported')) await soon()
  assert.match(received(), /^HTTP\/1\.1 415 /)
  const whole = await fetch(`${served.url}/v1/messages/search`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'multipart/form-data; boundary=x' },
    body: Buffer.alloc(20 * MEGABYTE),
  })
  assert.equal(whole.status, 415)
})

test('a body that is too large is answered with 413 while it is still being sent, whether its length is stated or not', async (context) => {
  const served = await serveKeyed(context, { limits: { bodyBytes: MEGABYTE } })
  const type = 'content-type: application/json'
  const stated = opened(context, served, withKey(KEY, 'POST /v1/blocks', type, 'content-length: 50000000'))
  const chunked = opened(context, served, withKey(KEY, 'POST /v1/blocks', type, 'transfer-encoding: chunked'))
  const piece = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, ' '), Buffer.from('\r\n')])
  for (let count = 0; count < 200; count++) {
    stated.socket.write(Buffer.alloc(65_536, ' '))
    chunked.socket.write(piece)
  }
  for (const { received, socket } of [stated, chunked]) {
    while (!received().includes('limits.body_bytes')) await soon()
    assert.match(received(), /^HTTP\/1\.1 413 /)
    assert.ok(!socket.destroyed, 'the connection is not cut under the client')
  }
})

test('a compressed body is refused', async (context) => {
  const { url } = await serveKeyed(context)
  const answer = await fetch(`${url}/v1/blocks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', 'content-encoding': 'gzip' },
    body: gzipSync(Buffer.alloc(5 * MEGABYTE, ' ')),
  })
  assert.equal(answer.status, 415)
  assert.deepEqual(await answer.json(), {
    detail: 'Content-Encoding "gzip" is not supported. Send the body uncompressed.',
  })
})

test('brackets and values are counted before a body is parsed: 10 MB of them cost no second and no memory', async (context) => {
  const { url, makeKey } = await serveKeyed(context)
  const { key } = await makeKey({ scope: 'read' })
  const attacks = ['[', '[],', '{"":', '0,', '{},'].map((text) =>
    text.repeat(Math.floor((10 * MEGABYTE - 2) / text.length)),
  )
  for (const attack of attacks) {
    const before = process.cpuUsage()
    const { status } = await fetch(`${url}/v1/messages/search`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: `[${attack}`,
    })
    assert.ok(status === 422 || status === 413, `${status}`)
    const { user, system } = process.cpuUsage(before)
    assert.ok(user + system < 1_000_000, `${attack.slice(0, 5)}: ${user + system} µs`)
  }
})

test('the bytes of requests that do not end are counted too', async (context) => {
  const served = await serveKeyed(context, { limits: { bytesInFlightPerKey: 2 * MEGABYTE } })
  const { key } = await served.makeKey({ scope: 'read' })
  const request = withKey(key, 'POST /v1/messages/search', 'content-type: application/json', 'content-length: 9000000')
  const slow = Array.from({ length: 6 }, () => opened(context, served, request + ' '.repeat(MEGABYTE)))
  while (!slow.some(({ received }) => received().startsWith('HTTP/1.1 429'))) await soon()
  assert.equal((await served.as()('GET', '/v1/agents')).status, 200)
})
