import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { isAllowedHost, parseDomain } from '../../src/core/egress-domain.ts'
import { isPublicAddress } from '../../src/net/public-address.ts'
import { missingProgram } from '../harness/programs.ts'
import { newConversationId, openWorkspacesFixture, runCommand } from './fixture-workspaces.ts'

const skip = missingProgram('bwrap')

async function website(context: TestContext) {
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.headers.host} ${request.url}`)
    response.end(`hello from ${request.headers.host}\n`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { seen, port: (server.address() as AddressInfo).port }
}

/** Requests through the proxy: plain HTTP, and a tunnel. */
const ask = (url: string) => `/holdfast/node --input-type=module -e '
import http from "node:http"
const url = new URL("${url}")
const proxy = { host: "127.0.0.1", port: 3128 }
const plain = await new Promise((resolve) => http.get({ ...proxy, path: url.href, headers: { host: url.host } }, (answer) => {
  let text = ""
  answer.on("data", (piece) => (text += piece)).on("end", () => resolve(answer.statusCode + " " + text))
}).on("error", (fault) => resolve(fault.message)))
const tunnel = await new Promise((resolve) => http.request({ ...proxy, method: "CONNECT", path: url.host }).on("connect", (answer, socket, head) => {
  if (answer.statusCode !== 200) { let text = String(head); socket.on("data", (piece) => (text += piece)).on("end", () => resolve(answer.statusCode + " " + text)); return }
  http.get({ createConnection: () => socket, path: url.pathname, headers: { host: url.host } }, (inner) => {
    let text = ""
    inner.on("data", (piece) => (text += piece)).on("end", () => resolve(inner.statusCode + " " + text))
  })
}).on("error", (fault) => resolve(fault.message)).end())
process.stdout.write(plain + tunnel)
process.exit()'`

test('only allowed domains are reached, with plain HTTP and through a tunnel', { skip }, async (context) => {
  const site = await website(context)
  const fixture = openWorkspacesFixture(context, {
    sandbox: { egress: [`allowed.test:${site.port}`, `*.wild.test:${site.port}`] },
    isPublicAddress: () => true,
    resolve: async () => [{ address: '127.0.0.1' }],
  })
  const workspace = await fixture.open()
  assert.match((await runCommand(workspace, 'echo $HTTPS_PROXY')).text, /^http:\/\/127\.0\.0\.1:3128/)
  const reached = (host: string) => runCommand(workspace, ask(`http://${host}:${site.port}/page`))
  assert.equal((await reached('allowed.test')).text, `200 hello from allowed.test:${site.port}\n`.repeat(2))
  assert.equal((await reached('a.b.wild.test')).text, `200 hello from a.b.wild.test:${site.port}\n`.repeat(2))
  const before = site.seen.length
  for (const host of ['wild.test', 'other.test', 'xallowed.test', 'allowed.test.evil.test', '127.0.0.1', '[::1]'])
    assert.match((await reached(host)).text, /^403 .*is not allowed.*\n403 .*is not allowed.*\n$/, host)
  assert.equal(site.seen.length, before)
})

test('an allowed domain that resolves to a private address is refused', { skip }, async (context) => {
  const site = await website(context)
  const addresses = ['127.0.0.1', '169.254.169.254', '10.0.0.1', '::1', '::ffff:127.0.0.1']
  const fixture = openWorkspacesFixture(context, {
    sandbox: { egress: addresses.map((_, place) => `host-${place}.test:${site.port}`) },
    isPublicAddress,
    resolve: async (host) => [{ address: '198.41.0.4' }, { address: addresses[Number(host.match(/\d+/))]! }],
  })
  const workspace = await fixture.open()
  for (const place of addresses.keys())
    assert.match(
      (await runCommand(workspace, ask(`http://host-${place}.test:${site.port}/`))).text,
      /^403 .*public[\s\S]*403 .*public/,
    )
  assert.deepEqual(site.seen, [])
})

test('a process that outlived its server uses the egress proxy of the next one', { skip }, async (context) => {
  const site = await website(context)
  const fixture = openWorkspacesFixture(context, {
    sandbox: { egress: [`allowed.test:${site.port}`] },
    isPublicAddress: () => true,
    resolve: async () => [{ address: '127.0.0.1' }],
  })
  const conversationId = newConversationId()
  await fixture.workspaces.open(conversationId)
  const next = fixture.another()
  const workspace = await next.open(conversationId)
  await fixture.workspaces.close()
  assert.match((await runCommand(workspace, ask(`http://allowed.test:${site.port}/`))).text, /^200 hello/)
  await next.remove(conversationId)
})

test('an allow list entry is a name, a wildcard for subdomains, or a name with a port', () => {
  const domains = ['Example.com', '*.example.org', 'api.test:8080'].map((text) => parseDomain(text)!)
  const allowed: [string, number, boolean][] = [
    ...([
      ['example.com', 443, true],
      ['EXAMPLE.com.', 80, true],
      ['example.com', 22, false],
    ] as [string, number, boolean][]),
    ...([
      ['www.example.com', 443, false],
      ['a.example.org', 443, true],
    ] as [string, number, boolean][]),
    ...([
      ['example.org', 443, false],
      ['.example.org', 443, false],
    ] as [string, number, boolean][]),
    ...([
      ['evilexample.org', 443, false],
      ['api.test', 8080, true],
      ['api.test', 443, false],
    ] as [string, number, boolean][]),
  ]
  for (const [host, port, is] of allowed) assert.equal(isAllowedHost(domains, host, port), is, `${host}:${port}`)
  for (const text of ['', '*', '*.', 'a b', 'http://example.com', 'example.com:0', 'example.com:99999', 'a/b'])
    assert.equal(parseDomain(text), undefined, text)
})
