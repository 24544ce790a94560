import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { RefusedFetch } from '../ports/safe-fetch.ts'
import { newSafeFetch, pinnedLookup, type ResolvedAddress } from './safe-fetch.ts'

type SeenRequest = { method?: string; url?: string; headers: IncomingMessage['headers']; body: string }

/** Starts a real HTTP server that records its requests. */
async function startServer(context: TestContext, answer: RequestListener, host = '127.0.0.1') {
  const seen: SeenRequest[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    seen.push({ method: request.method!, url: request.url!, headers: request.headers, body })
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  context.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { seen, port, host: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}` }
}

const respondWith =
  (text: string): RequestListener =>
  (_, response) =>
    void response.end(text)

const redirectTo =
  (location: () => string, status = 302): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { location: location() }).end('moved')

const resolverFor = (table: Record<string, ResolvedAddress[]>) => async (host: string) => {
  const found = table[host]
  if (!found) throw new Error(`${host} is unknown`)
  return found
}

const addressOf = (address: string): ResolvedAddress => ({ address, family: address.includes(':') ? 6 : 4 })
const PUBLIC = addressOf('198.41.0.4')

const refused = (pattern: RegExp) => (fault: unknown) => {
  assert.ok(fault instanceof RefusedFetch, String(fault))
  assert.match(fault.message, pattern)
  return true
}

test('a caller-supplied address reaches nothing on this machine', async (context) => {
  const inside = await startServer(context, respondWith('secret'))
  const inside6 = await startServer(context, respondWith('secret'), '::1')
  const fetch = newSafeFetch({
    trust: 'public',
    plainHttp: true,
    resolve: resolverFor({
      localhost: [addressOf('127.0.0.1'), addressOf('::1')],
      'inside.test': [addressOf('127.0.0.1')],
      'inside6.test': [addressOf('::1')],
      'mapped.test': [addressOf('::ffff:127.0.0.1')],
      'both.test': [PUBLIC, addressOf('127.0.0.1')],
      'nothing.test': [],
    }),
  })
  const { port } = inside
  const hosts = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '0.0.0.0',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    'localhost',
    'inside.test',
    'mapped.test',
    'both.test',
    'nothing.test',
  ]
  for (const host of hosts) await assert.rejects(fetch(`http://${host}:${port}/`), refused(/public/), host)
  for (const host of ['[::1]', 'inside6.test'])
    await assert.rejects(fetch(`http://${host}:${inside6.port}/`), refused(/public/), host)
  assert.deepEqual([...inside.seen, ...inside6.seen], [])
})

test('a redirect is checked like the address itself', async (context) => {
  const inside = await startServer(context, respondWith('secret'))
  let location = ''
  const outside = await startServer(
    context,
    redirectTo(() => location),
  )
  const fetch = newSafeFetch({
    trust: 'public',
    plainHttp: true,
    allow: [outside.host],
    resolve: resolverFor({ 'rebound.test': [addressOf('127.0.0.1')] }),
  })
  const targets = [
    inside.url,
    `//127.1:${inside.port}/`,
    `http://rebound.test:${inside.port}/`,
    'http://169.254.169.254/latest',
    'file:///etc/passwd',
    'data:text/plain,x',
    'ftp://127.0.0.1/',
    `http://me:secret@${outside.host}/`,
    'http://[::1',
  ]
  for (const target of targets) {
    location = target
    await assert.rejects(fetch(outside.url), RefusedFetch, target)
  }
  assert.deepEqual(inside.seen, [])
  location = '/again'
  await assert.rejects(fetch(outside.url), refused(/more than 5 redirects/))
  await assert.rejects(fetch(outside.url, { redirect: 'error' }), refused(/does not allow redirects/))
  assert.equal((await fetch(outside.url, { redirect: 'manual' })).status, 302)
})

test('a name is resolved once, and the socket connects to the checked address', async (context) => {
  // DNS rebinding: public on the first lookup, loopback on the second.
  const answers = [PUBLIC, addressOf('127.0.0.1')]
  const lookup = pinnedLookup(async () => [answers.shift()!], 'public')
  const look = () => new Promise((resolve) => lookup('rebinding.test', { all: true }, (...result) => resolve(result)))
  assert.deepEqual(await look(), [null, [PUBLIC]])
  assert.ok(((await look()) as unknown[])[0] instanceof RefusedFetch)

  const inside = await startServer(context, respondWith('hello'))
  const resolved: string[] = []
  const fetch = newSafeFetch({
    trust: 'configured',
    async resolve(host) {
      resolved.push(host)
      return [addressOf('127.0.0.1')]
    },
  })
  assert.equal(await (await fetch(`http://once.test:${inside.port}/`)).text(), 'hello')
  assert.deepEqual(resolved, ['once.test'])
})

test('a configured address may be private, but not where it redirects to', async (context) => {
  const inside = await startServer(context, respondWith('secret'))
  let location = '/there'
  const configured = await startServer(context, (request, response) =>
    request.url === '/there' ? response.end('hello') : void redirectTo(() => location)(request, response),
  )
  const fetch = newSafeFetch({
    trust: 'configured',
    resolve: resolverFor({ 'configured.test': [addressOf('127.0.0.1')] }),
  })
  for (const host of ['127.0.0.1', 'configured.test']) {
    const response = await fetch(`http://${host}:${configured.port}/`)
    assert.equal(await response.text(), 'hello')
    assert.equal(response.url, `http://${host}:${configured.port}/there`)
  }
  for (location of [inside.url, `http://configured.test:${inside.port}/`, 'http://169.254.169.254/'])
    await assert.rejects(fetch(configured.url), RefusedFetch, location)
  assert.deepEqual(inside.seen, [])
  await assert.rejects(fetch(`http://me:secret@${configured.host}/`), refused(/password/))
})

test('secrets of a request are not sent to another origin', async (context) => {
  const other = await startServer(context, respondWith('other'))
  let location = ''
  let status = 307
  const first = await startServer(context, (request, response) =>
    request.url === '/here' ? response.end('here') : void redirectTo(() => location, status)(request, response),
  )
  const fetch = newSafeFetch({ trust: 'public', plainHttp: true, allow: [first.host, other.host] })
  const secrets = { authorization: 'Bearer secret', cookie: 'a=b', 'x-api-key': 'secret', accept: 'text/plain' }
  const init = { method: 'POST', headers: { ...secrets, 'content-type': 'text/plain' }, body: 'hello' }
  location = '/here'
  await fetch(first.url, init)
  assert.deepEqual([first.seen.at(-1)!.headers['x-api-key'], first.seen.at(-1)!.body], ['secret', 'hello'])
  location = other.url
  await fetch(first.url, init)
  const { headers, body, method } = other.seen.at(-1)!
  assert.deepEqual([headers.authorization, headers.cookie, headers['x-api-key']], [undefined, undefined, undefined])
  assert.deepEqual([method, body, headers.accept], ['POST', 'hello', 'text/plain'])
  status = 303
  await fetch(first.url, init)
  assert.deepEqual([other.seen.at(-1)!.method, other.seen.at(-1)!.body], ['GET', ''])
})

test('https is required unless http is allowed, and no other scheme is', async () => {
  const fetch = newSafeFetch({ trust: 'public' })
  await assert.rejects(fetch('http://198.41.0.4/'), refused(/https/))
  for (const url of ['file:///etc/passwd', 'ftp://198.41.0.4/', 'data:text/plain,x', 'gopher://198.41.0.4/'])
    await assert.rejects(fetch(url), refused(/only https and http URLs are allowed/))
})

test('a response that is too long, too late or silent fails, even if it is small when compressed', async (context) => {
  const long = await startServer(context, (request, response) => {
    if (request.url === '/packed')
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(1_000_000)))
    else if (request.url === '/silent') response.write('begun')
    else if (request.url === '/short') response.end('x'.repeat(1000))
    else if (request.url !== '/late') response.end('x'.repeat(1001))
  })
  const fetch = newSafeFetch({ trust: 'configured', maxBytes: 1000, headersTimeoutMs: 60_000, idleTimeoutMs: 60_000 })
  const hasty = newSafeFetch({ trust: 'configured', maxBytes: 1000, headersTimeoutMs: 500, idleTimeoutMs: 500 })
  assert.equal((await (await fetch(`${long.url}/short`)).text()).length, 1000)
  await assert.rejects((await fetch(`${long.url}/long`)).text(), /longer than 1000 bytes/)
  await assert.rejects((await fetch(`${long.url}/packed`)).text(), /longer than 1000 bytes/)
  await assert.rejects(hasty(`${long.url}/late`), /no response within 500 ms/)
  await assert.rejects((await hasty(`${long.url}/silent`)).text())
  await assert.rejects(fetch(`${long.url}/late`, { signal: AbortSignal.abort(new Error('enough')) }), /enough/)
})
