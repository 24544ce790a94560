import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { startServer } from '../../src/http/server.ts'
import { openMemoryFixture } from '../harness/fixture-memory.ts'
import { missingProgram } from '../harness/programs.ts'
import { KEY } from './fixture-server-process.ts'

const PAGE = 'https://app.example.com'

/** A local server that pages of these origins may call. */
async function serve(context: TestContext, corsOrigins: readonly string[]) {
  const fixture = await openMemoryFixture(context, {})
  const server = await startServer({
    context: { ...fixture.context, corsOrigins },
    host: '127.0.0.1',
    port: 0,
    apiKey: KEY,
    version: 'test',
    report: (fault) => void fixture.faults.push(fault),
  })
  context.after(() => server.close())
  return { fixture, url: server.url }
}

const preflight = (url: string, origin: string) =>
  fetch(`${url}/v1/agents/`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,x-holdfast-when-busy',
    },
  })

const corsHeadersOf = ({ headers }: Response) => [...headers.keys()].filter((name) => name.startsWith('access-control'))

test('a preflight from an allowed origin is answered without a key, and the request itself still needs one', async (context) => {
  const { url } = await serve(context, [PAGE])
  const asked = await preflight(url, PAGE)
  assert.equal(asked.status, 204)
  assert.equal(asked.headers.get('access-control-allow-origin'), PAGE)
  assert.equal(asked.headers.get('access-control-allow-headers'), 'authorization,content-type,x-holdfast-when-busy')
  assert.match(asked.headers.get('access-control-allow-methods')!, /POST/)
  assert.equal(asked.headers.get('access-control-allow-credentials'), null)
  const refused = await fetch(`${url}/v1/agents/`, { headers: { origin: PAGE } })
  assert.equal(refused.status, 401)
  assert.equal(refused.headers.get('access-control-allow-origin'), PAGE)
  const answered = await fetch(`${url}/v1/agents/`, { headers: { origin: PAGE, authorization: `Bearer ${KEY}` } })
  assert.equal(answered.status, 200)
  assert.equal(answered.headers.get('access-control-expose-headers'), '*')
  assert.equal(answered.headers.get('vary'), 'origin')
})

test('a stream carries the headers too', async (context) => {
  const { url, fixture } = await serve(context, [PAGE])
  const headers = { origin: PAGE, authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ input: 'hello', streaming: true })
  const response = await fetch(`${url}/v1/agents/${fixture.agent.id}/messages`, { method: 'POST', headers, body })
  assert.equal(response.headers.get('access-control-allow-origin'), PAGE)
  assert.match(await response.text(), /\[DONE\]/)
})

test('without the setting there is no CORS header, and an origin that is not allowed is refused', async (context) => {
  const closed = await serve(context, [])
  const open = await serve(context, [PAGE])
  for (const { url, origin } of [
    { ...closed, origin: PAGE },
    { ...open, origin: 'https://app.example.com.evil.example' },
    { ...open, origin: 'http://app.example.com' },
    { ...open, origin: 'null' },
  ]) {
    const asked = await preflight(url, origin)
    assert.equal(asked.status, 403)
    assert.deepEqual(corsHeadersOf(asked), [])
    const sent = await fetch(`${url}/v1/agents/`, { headers: { origin, authorization: `Bearer ${KEY}` } })
    assert.equal(sent.status, 403)
    assert.match(((await sent.json()) as { detail: string }).detail, /server\.cors_origins/)
  }
})

test('a page in a real browser calls the server from an allowed origin, and from no other', {
  skip: missingProgram('chromium'),
}, async (context) => {
  let target = ''
  const pages = createServer((_, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(pageCalling(target))
  }).listen(0, '127.0.0.1')
  await once(pages, 'listening')
  context.after(() => pages.close())
  const { port } = pages.address() as { port: number }
  const allowed = await serve(context, [`http://127.0.0.1:${port}`])
  target = allowed.url
  assert.match(await browse(`http://127.0.0.1:${port}/`), /answered 200/)
  target = (await serve(context, ['http://127.0.0.1:1'])).url
  assert.match(await browse(`http://127.0.0.1:${port}/`), /failed/)
})

const pageCalling = (url: string) => `<body>waiting<script>
  fetch('${url}/v1/agents/', { headers: { authorization: 'Bearer ${KEY}' } })
    .then((response) => { document.body.textContent = 'answered ' + response.status })
    .catch(() => { document.body.textContent = 'failed' })
</script></body>`

async function browse(url: string): Promise<string> {
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--virtual-time-budget=10000', '--dump-dom', url]
  const { stdout } = await promisify(execFile)('chromium', flags, { timeout: 120_000 })
  return stdout
}
