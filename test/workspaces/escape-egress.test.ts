import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createListener, type Server } from 'node:net'
import { type TestContext, test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { RAW_REQUESTS } from './escapes/raw-requests.ts'
import { openWorkspacesFixture, runCommand } from './fixture-workspaces.ts'

const skip = missingProgram('bwrap')

/** Sends each request over a new connection and prints its answer. */
const SEND = `
const { connect } = require('net')
const said = JSON.parse(require('fs').readFileSync('requests.json', 'utf8'))
void Promise.all(said.map((bytes) => new Promise((resolve) => {
  let text = ''
  const socket = connect(3128, '127.0.0.1', () => socket.write(bytes))
  socket.setTimeout(1000, () => socket.destroy())
  socket.on('data', (piece) => { text += piece; if (/^HTTP.1.1 200 Conn/.test(text)) socket.write('GET / HTTP/1.0\\r\\n\\r\\n') })
  socket.on('error', () => {}).on('close', () => resolve(text))
}))).then((all) => console.log(JSON.stringify(all)))`

test('no request to the egress proxy reaches a server that is not on the allow list', { skip }, async (context) => {
  const hosts: (string | undefined)[] = []
  const website = createServer((request, response) => {
    hosts.push(request.headers.host)
    response.end('hello\n')
  })
  const site = await listen(context, website)
  let visits = 0
  const secret = await listen(
    context,
    createListener((socket) => {
      visits++
      socket.on('error', () => {}).end('HTTP/1.1 200 OK\r\n\r\ncanary\n')
    }),
  )
  const fixture = openWorkspacesFixture(context, {
    sandbox: { egress: [`allowed.test:${site}`] },
    isPublicAddress: () => true,
    resolve: async (host) => [{ address: host === 'allowed.test' ? '127.0.0.1' : host }],
  })
  const workspace = await fixture.open()
  const good = `GET http://allowed.test:${site}/ HTTP/1.1\r\nHost: other.test\r\nConnection: close\r\n\r\n`
  const sent = [good, ...RAW_REQUESTS.map(({ bytes }) => bytes({ site, secret }))]
  await workspace.files.write('requests.json', JSON.stringify(sent))
  await workspace.files.write('send.cjs', SEND)
  const { text } = await runCommand(workspace, '/holdfast/node send.cjs')
  const [first, ...others] = JSON.parse(text) as string[]
  assert.match(first!, /^HTTP\/1\.1 200 [\s\S]*hello/)
  for (const [place, { tries }] of RAW_REQUESTS.entries()) assert.ok(!others[place]!.includes('canary'), tries)
  assert.equal(visits, 0)
  // A server with many names must not receive a Host that is not on the list.
  assert.deepEqual([...new Set(hosts)], [`allowed.test:${site}`])

  const swap = 'cd /holdfast/egress && for name in *; do rm $name; ln -s /tmp/mine $name; touch mine; done'
  const { text: names } = await runCommand(workspace, `(${swap}) 2> /dev/null; ls /holdfast/egress`)
  assert.match(names, /^[\w-]+\.sock\n$/)
})

async function listen(context: TestContext, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => server.close())
  return (server.address() as AddressInfo).port
}
