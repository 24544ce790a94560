import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startServer } from '../../src/http/server.ts'
import { openMemoryFixture } from '../harness/fixture-memory.ts'
import { KEY } from './fixture-server-process.ts'

type Bound = { host?: string; hosts?: string[]; apiKey?: string }

async function serve(context: TestContext, { host = '127.0.0.1', hosts = [], apiKey = KEY }: Bound) {
  const fixture = await openMemoryFixture(context, {})
  const server = await startServer({
    context: { ...fixture.context, hosts },
    host,
    port: 0,
    apiKey,
    version: 'test',
    report: (fault) => void fixture.faults.push(fault),
  })
  context.after(() => server.close())
  return Number(new URL(server.url).port)
}

/** Over a bare connection: a client would not send these headers. */
async function ask(port: number, hosts: readonly string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const lines = hosts.map((host) => `Host: ${host}\r\n`).join('')
  socket.write(`GET /v1/agents HTTP/1.1\r\n${lines}Authorization: Bearer ${KEY}\r\nConnection: close\r\n\r\n`)
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  await once(socket, 'end')
  return `${text.slice(9, 12)} ${/"detail":"(.*)"}/.exec(text)?.[1] ?? ''}`.trim()
}

test('a request with two Host headers is refused, whichever comes first', async (context) => {
  const port = await serve(context, {})
  assert.equal(await ask(port, [`127.0.0.1:${port}`]), '200')
  for (const hosts of [
    [`127.0.0.1:${port}`, 'evil.example'],
    ['evil.example', `127.0.0.1:${port}`],
  ])
    assert.equal(await ask(port, hosts), '400 The request has two Host headers.')
})

test('a server is called by the names of server.hosts and of loopback alone, on a public address too', async (context) => {
  for (const host of ['127.0.0.1', '0.0.0.0']) {
    const port = await serve(context, { host, hosts: ['agents.example.com'] })
    assert.equal(await ask(port, [`localhost:${port}`]), '200')
    assert.equal(await ask(port, ['Agents.example.com']), '200')
    assert.match(await ask(port, ['evil.example']), /^403 .*evil\.example.* is not allowed\..*server\.hosts/)
  }
  const anyName = await serve(context, { host: '0.0.0.0' })
  assert.equal(await ask(anyName, ['any.example']), '200', 'without server.hosts a public address has every name')
})

test('a server on loopback needs a key of eight characters', async (context) => {
  await assert.rejects(serve(context, { apiKey: 'seven77' }), /the API key must have at least 8 characters/i)
})
