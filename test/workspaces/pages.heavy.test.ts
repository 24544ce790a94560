import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { missingProgram } from '../harness/programs.ts'
import { type ServedApp, serveApp, workspaceAgent } from './fixture-served-app.ts'

const skip = missingProgram('bwrap')
const skipBrowser = skip || missingProgram('chromium')

/** Serves what it is asked for, and tells at /seen which headers reached it. */
const SERVER = `
const http = require('http'), fs = require('fs'), crypto = require('crypto'), seen = []
let late
const server = http.createServer((request, response) => {
  const [path] = request.url.split('?')
  seen.push({ url: request.url, headers: request.headers })
  if (path === '/seen') return response.end(JSON.stringify(seen))
  if (path === '/moved') return response.writeHead(302, { location: '/index.html?moved' }).end()
  if (path === '/away') return response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
  if (path === '/cookie') return response.writeHead(200, { 'set-cookie': 'a=b; Domain=localhost', 'access-control-allow-origin': '*' }).end('x')
  if (path === '/echo') return request.pipe(response)
  if (path === '/hang') return
  if (path === '/late') return void (late = response)
  if (path === '/done') { late?.end(); return response.end('x') }
  try { response.writeHead(200, { 'content-type': path.endsWith('.js') ? 'text/javascript' : 'text/html' }).end(fs.readFileSync('.' + path)) }
  catch { response.writeHead(404).end('none') }
})
server.on('upgrade', (request, socket) => {
  const accept = crypto.createHash('sha1').update(request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64')
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nupgrade: websocket\\r\\nconnection: Upgrade\\r\\nset-cookie: a=b\\r\\nsec-websocket-accept: ' + accept + '\\r\\n\\r\\n')
  socket.write(Buffer.from([0x81, 5, ...Buffer.from('hello')]))
})
server.listen(8000)`

type Answer = { status: number; headers: Record<string, string | string[] | undefined>; text: string }
type Asked = { method?: string; headers?: Record<string, string>; body?: string }

/** A request to the page's host name, which only browsers resolve. */
function get(url: string, { method = 'GET', headers = {}, body }: Asked = {}): Promise<Answer> {
  const { host, port, pathname, search } = new URL(url)
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path: pathname + search, method, headers: { host, ...headers } })
    sent.on('error', reject)
    sent.on('response', async (response) => {
      let text = ''
      for await (const piece of response.setEncoding('utf8')) text += piece
      resolve({ status: response.statusCode!, headers: response.headers, text })
    })
    sent.end(body)
  })
}

type Page = { id: string; url: string; port: number; expires_at: string }
type ServedPage = ServedApp & { path: string; open(body?: object): Promise<Page> }

/** An agent that serves the files in its workspace. */
async function servePage(t: TestContext, files: Record<string, string>): Promise<ServedPage> {
  const app = await serveApp(t)
  const agent = await workspaceAgent(app.client)
  for (const [path, content] of Object.entries({ 'server.cjs': SERVER, ...files }))
    await app.call(agent.id, 'write_file', { path, content })
  await app.call(agent.id, 'shell', { command: 'node server.cjs', background: true })
  await app.call(agent.id, 'shell', {
    command: 'until node -e "fetch(\'http://127.0.0.1:8000/seen\')" 2>/dev/null; do sleep 0.1; done; sleep 0.2',
  })
  const [workspace] = (await app.ask('GET', '/v1/workspaces')).body as { conversation_id: string }[]
  const path = `/v1/workspaces/${workspace!.conversation_id}`
  return {
    ...app,
    path,
    async open(body = {}) {
      const { status, body: page } = await app.ask('POST', `${path}/pages`, { body })
      assert.equal(status, 200, JSON.stringify(page))
      return page
    },
  }
}

/** Follows the address that works once. */
async function enter({ url }: Page): Promise<string> {
  const { status, headers } = await get(url)
  assert.equal(status, 303)
  return String(headers.location)
}

test('a page that an agent serves is opened once, without cookies or keys, and ends', { skip }, async (t) => {
  const { ask, open, path } = await servePage(t, { 'index.html': '<h1>Hello</h1>' })
  const shown = (await ask('GET', path)).body as { ports: { port: number; process_id: string }[] }
  assert.deepEqual(
    shown.ports.map(({ port, process_id }) => [port, typeof process_id]),
    [[8000, 'string']],
  )
  const page = await open()
  assert.equal(page.port, 8000)
  const address = await enter(page)
  assert.match(address, /^http:\/\/[0-9a-f]{32}\.localhost:\d+\/$/)
  assert.equal((await get(page.url)).status, 404, 'the address works once')

  const secrets = {
    authorization: 'Bearer secret',
    cookie: 'session=secret',
    'x-api-key': 'secret',
    referer: 'http://x/secret',
  }
  const { status, headers, text } = await get(`${address}index.html`, { headers: secrets })
  assert.equal(status, 200)
  assert.equal(text, '<h1>Hello</h1>')
  assert.match(String(headers['content-security-policy']), /^sandbox allow-scripts;/)
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(headers['cache-control'], 'no-store')
  assert.equal(headers['referrer-policy'], 'no-referrer')
  const seen = (await get(`${address}seen`)).text
  assert.doesNotMatch(seen, /secret|authorization|cookie/)
  const cookie = await get(`${address}cookie`)
  assert.equal(cookie.headers['set-cookie'], undefined)
  assert.equal(cookie.headers['access-control-allow-origin'], undefined)
  assert.equal((await get(`${address}moved`)).headers.location, '/index.html?moved')
  assert.equal((await get(`${address}away`)).status, 502)
  assert.equal((await get(`${address}echo`, { method: 'POST', body: 'x'.repeat(200_000) })).text.length, 200_000)

  assert.equal((await get(`${address}index.html`, { headers: { origin: 'http://evil.example' } })).status, 403)
  assert.equal((await get(`${address}index.html`, { headers: { host: 'evil.example' } })).status, 404)
  const hanging = get(`${address}hang`)
  assert.equal((await ask('DELETE', `${path}/pages/${page.id}`)).status, 200)
  assert.equal((await ask('DELETE', `${path}/pages/${page.id}`)).status, 404)
  assert.equal((await get(`${address}index.html`)).status, 404)
  assert.equal((await hanging).status, 502)
})

test('a port that no process of the workspace listens on is refused with the ports that are open', {
  skip,
}, async (t) => {
  const { ask, path } = await servePage(t, {})
  const { status, body } = await ask('POST', `${path}/pages`, { body: { port: 22 } })
  assert.equal(status, 409)
  assert.match(JSON.stringify(body), /No process of this workspace listens on port 22\. Open ports: 8000\./)
  assert.equal((await ask('POST', `${path}/pages`, { body: { port: 0 } })).status, 422)
  const audit = (await ask('GET', '/v1/audit')).body as { verb: string }[]
  assert.ok(!audit.some(({ verb }) => verb === 'workspace.open-page'))
})

test('a page has WebSockets, and its answer to the handshake sets no cookie', { skip }, async (t) => {
  const { open } = await servePage(t, {})
  const address = await enter(await open())
  const key = createHash('md5').update('key').digest('base64')
  const { host, port } = new URL(address)
  const headers = {
    host,
    origin: 'null',
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-key': key,
    'sec-websocket-version': '13',
    cookie: 'a=b',
  }
  const sent = request({ host: '127.0.0.1', port, path: '/socket', headers }).end()
  const text = await new Promise<string>((resolve, reject) => {
    sent.on('error', reject)
    sent.on('upgrade', (response, socket, head) => {
      assert.equal(response.headers['set-cookie'], undefined)
      const finish = (bytes: Buffer) => {
        resolve(bytes.subarray(2).toString())
        socket.destroy()
      }
      if (head.length > 0) finish(head)
      else socket.once('data', finish)
    })
  })
  assert.equal(text, 'hello')
})

test('in a real browser such a page works, and cannot read, approve or send anything', {
  skip: skipBrowser,
}, async (t) => {
  const attack = (
    api: string,
    conversation: string,
  ) => `<body><img src="/late"><script type="module" src="/own.js"></script><script>
const api = ${JSON.stringify(api)}
const attempts = []
const attempt = (name, work) => void attempts.push(one(name, work))
const one = async (name, work) => {
  let how
  try { how = 'done ' + await work() } catch (fault) { how = 'refused' }
  document.body.insertAdjacentHTML('beforeend', '<p>' + name + ': ' + how + '</p>')
}
const post = (mode) => fetch(api + '/v1/workspaces/${conversation}/pages', { method: 'POST', mode, body: '{}', credentials: 'include' }).then((one) => one.status)
attempt('read', () => fetch(api + '/v1/agents/', { credentials: 'include' }).then((one) => one.text()))
attempt('open', () => fetch(api + '/v1/health/').then((one) => one.text()))
attempt('post', () => post('cors'))
attempt('blind post', () => post('no-cors'))
attempt('beacon', () => { if (!navigator.sendBeacon(api + '/v1/approvals/run-1', '{}')) throw 1 })
attempt('cookie', () => document.cookie)
attempt('storage', () => localStorage.length)
attempt('origin', () => window.origin)
attempt('own', () => fetch('/seen').then((one) => one.json()).then((all) => typeof all.length))
attempt('socket', () => new Promise((resolve, reject) => { const s = new WebSocket('ws://' + location.host + '/s'); s.onmessage = (e) => resolve(e.data); s.onerror = reject }))
const form = document.createElement('form'); form.method = 'post'; form.action = api + '/v1/agents/'; document.body.append(form)
attempt('form', () => { form.submit(); return 'tried' })
const frame = document.createElement('iframe'); frame.src = api + '/docs'; document.body.append(frame)
attempt('frame', () => frame.contentWindow.document.body.innerText)
// The image holds the document back until every attempt has ended.
Promise.all(attempts).then(() => fetch('/done'))
</script></body>`
  const page = await servePage(t, { 'own.js': "document.body.insertAdjacentHTML('beforeend', '<p>module: done</p>')" })
  const api = String((page.client as unknown as { baseURL: string }).baseURL)
  const agentId = ((await page.ask('GET', '/v1/agents/')).body as { id: string }[])[0]!.id
  const conversation = page.path.split('/').at(-1)!
  await page.call(agentId, 'write_file', { path: 'index.html', content: attack(api, conversation) })
  const auditBefore = (await page.ask('GET', '/v1/audit')).body as unknown[]
  const { url } = await page.open()
  const entry = new URL(url)
  // The address leads to `/`; the server of this test names its page.
  const { headers } = await get(entry.href)
  const text = await dumpPage(t, `${String(headers.location)}index.html`)
  for (const name of ['read', 'open', 'post', 'blind post', 'cookie', 'storage', 'frame'])
    assert.match(text, new RegExp(`<p>${name}: refused`), `${name}: ${text}`)
  assert.match(text, /<p>origin: done null/)
  assert.match(text, /<p>own: done number/, text)
  assert.match(text, /<p>socket: done hello/, text)
  assert.match(text, /<p>module: done/, text)
  const agents = (await page.ask('GET', '/v1/agents/')).body as unknown[]
  assert.equal(agents.length, 1)
  const audit = (await page.ask('GET', '/v1/audit')).body as { verb: string }[]
  assert.deepEqual(
    audit.slice(0, audit.length - auditBefore.length).map(({ verb }) => verb),
    ['workspace.open-page'],
  )
  // Without its own restrictions a request of such a page is refused, too: by its origin, and for want of a key.
  const stranger = { method: 'POST', headers: { origin: 'null', 'content-type': 'text/plain' }, body: '{}' }
  assert.equal((await fetch(`${api}/v1/agents/`, stranger)).status, 403)
  assert.equal((await fetch(`${api}/v1/agents/`)).status, 401)
})

/** The document after its scripts have run, in a browser with an empty profile. */
async function dumpPage(t: TestContext, address: string): Promise<string> {
  const profile = mkdtempSync(join(tmpdir(), 'holdfast-browser-'))
  t.after(() => rmSync(profile, { recursive: true, force: true, maxRetries: 5 }))
  const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', `--user-data-dir=${profile}`]
  const { stdout } = await promisify(execFile)('chromium', [...flags, '--dump-dom', address], {
    timeout: 120_000,
    env: { PATH: process.env.PATH, HOME: profile },
  })
  return stdout
}
