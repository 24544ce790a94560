import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { callOf, node, openStdioFixture } from './fixture-stdio.ts'

const skip = missingProgram('bwrap')

test('a program reaches the domains of its server and no others', { skip }, async (t) => {
  const web = createServer((_, response) => response.end('hello from outside'))
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
  t.after(() => web.close())
  const { port } = web.address() as AddressInfo
  const sandbox = { resolve: async () => [{ address: '127.0.0.1' }], isPublicAddress: () => true }
  const fixture = await openStdioFixture(t, { sandbox })
  const server = fixture.server(
    { ...node('test.mjs'), command: '/holdfast/node', egress: [`allowed.test:${port}`] },
    { env: { NODE_USE_ENV_PROXY: '1' } },
  )
  const call = callOf(fixture, server)
  const reach = async (host: string) => (await call('reach', { input: { url: `http://${host}:${port}/` } })).output
  assert.equal(await reach('allowed.test'), 'hello from outside')
  assert.match(await reach('other.test'), /fetch failed/)
})

test('a program that does not even answer a ping is stopped, and the next call starts it again', {
  skip,
}, async (t) => {
  const fixture = await openStdioFixture(t)
  const server = fixture.server(node('test.mjs'))
  const call = callOf(fixture, server)
  const stop = new AbortController()
  const frozen = call('freeze', { signal: stop.signal })
  // Long enough for the program to have started it.
  await call('echo', { signal: AbortSignal.timeout(5_000) })
  stop.abort('timeout')
  assert.equal((await frozen).status, 'unknown')
  for (let output = ''; output !== 'echo'; ) ({ output } = await call('echo', { signal: AbortSignal.timeout(10_000) }))
})
