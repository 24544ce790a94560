import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { missingProgram } from '../harness/programs.ts'
import { callOf, description, installProgram, node, openStdioFixture } from './fixture-stdio.ts'

const skip = missingProgram('bwrap')

test('a program of an MCP server is listed and called in its sandbox, with its secrets and nothing of the server', {
  skip,
}, async (t) => {
  const fixture = await openStdioFixture(t)
  const server = fixture.server(node('test.mjs'), { env: { TOKEN: 'open-sesame' } })
  const call = callOf(fixture, server)
  const listing = await fixture.mcp.list(server)
  assert.ok(listing.type === 'listed', JSON.stringify(listing))
  assert.deepEqual(listing.tools.slice(0, 2), [description('echo'), description('pay')])
  const [one, two] = await Promise.all([
    call('echo', { input: { words: 'one' } }),
    call('echo', { input: { words: 'two' }, session: 'two' }),
  ])
  assert.deepEqual([one.output, two.output], ['one', 'two'])
  process.env.HOLDFAST_TEST_SECRET = 'of the server'
  const { output } = await call('env')
  const { env, cwd } = JSON.parse(output)
  assert.equal(cwd, '/workspace')
  assert.equal(env.TOKEN, '…', 'a secret that the program echoes is redacted')
  assert.equal(env.HOLDFAST_TEST_SECRET, undefined)
  assert.match((await call('reach', { input: { url: 'http://127.0.0.1:1/' } })).output, /fetch failed/)
  const catalog = await fixture.mcp.catalog(server)
  assert.ok(catalog.type === 'listed')
  assert.deepEqual([catalog.resources[0]!.uri, catalog.prompts[0]!.name], ['test://one', 'greet'])
})

test('programs that hang, die, flood and lie end in a clear result, and other calls go on', { skip }, async (t) => {
  const fixture = await openStdioFixture(t)
  const server = fixture.server(node('test.mjs'))
  const call = callOf(fixture, server)
  assert.equal((await call('lie')).output, 'yours')
  const stop = new AbortController()
  const hung = call('hang', { signal: stop.signal })
  assert.equal((await call('echo', { input: { words: 'meanwhile' } })).output, 'meanwhile')
  stop.abort('timeout')
  const late = await hung
  assert.deepEqual([late.status, /did not answer in time/.test(late.output)], ['unknown', true])
  assert.equal((await call('echo')).output, 'echo', 'a program that answers a ping goes on')

  const outcomes: [tool: string, why: RegExp][] = [
    ['die', /lost during this call: it ended with exit code 3: out of paper.*may or may not/],
    ['flood', /it sent too much that was not asked for/],
    ['noise', /are not messages of the protocol/],
    ['long', /more than 16777216 bytes in one line/],
  ]
  for (const [tool, why] of outcomes) {
    fixture.mcp.forget(server.id)
    const answer = await call(tool)
    assert.equal(answer.status, 'unknown', tool)
    assert.match(answer.output, why)
  }
  const calls = readFileSync(join(fixture.filesOf(server), 'calls'), 'utf8')
    .trim()
    .split('\n')
  for (const [tool] of outcomes) assert.equal(calls.filter((one) => one === tool).length, 1, `${tool} was not repeated`)
})

test('a program that ends again and again is started with growing pauses, and one that may repeat is', {
  skip,
}, async (t) => {
  const fixture = await openStdioFixture(t)
  const server = fixture.server(node('test.mjs'))
  const call = callOf(fixture, server)
  assert.equal((await call('die')).status, 'unknown')
  assert.equal((await call('die')).status, 'unknown')
  const paused = await call('echo')
  assert.match(
    paused.output,
    /it ended 2 times, last because it ended with exit code 3.*starts again in 1 s.*Nothing happened/,
  )
  const missing = fixture.server({ type: 'stdio', command: 'no-such-program', args: [] })
  const failed = await fixture.mcp.list(missing)
  assert.ok(failed.type === 'failed')
  assert.match(failed.detail, /no-such-program/)
})

test('an idle program is stopped, and the next call starts it', { skip }, async (t) => {
  const fixture = await openStdioFixture(t, { idleMs: 50 })
  const server = fixture.server(node('test.mjs'))
  const call = callOf(fixture, server)
  const { output: first } = await call('stamp')
  while ((await call('stamp')).output === first) await setTimeout(100)
})

test('a program that changes its tools while it runs is not called until the change is approved', {
  skip,
}, async (t) => {
  const fixture = await openStdioFixture(t)
  const server = fixture.server(node('test.mjs'))
  const call = callOf(fixture, server)
  assert.equal((await call('echo')).output, 'echo')
  assert.equal((await call('change')).output, 'changed')
  assert.match((await call('echo')).output, /changed its definition, so an administrator must approve it first/)
  const calls = readFileSync(join(fixture.filesOf(server), 'calls'), 'utf8')
    .trim()
    .split('\n')
  assert.deepEqual(calls, ['echo', 'change'])
  assert.equal(fixture.recorded.length, 1)
})

test('a server of the npm registry works: @modelcontextprotocol/server-filesystem', { skip }, async (t) => {
  const fixture = await openStdioFixture(t)
  const source = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-filesystem/dist/index.js'))
  await installProgram(fixture.home, source, 'filesystem.mjs')
  const server = fixture.server(node('filesystem.mjs', '/workspace'))
  const listing = await fixture.mcp.list(server)
  assert.ok(listing.type === 'listed', JSON.stringify(listing))
  const call = (name: string, input: Record<string, string>) => {
    const pinned = listing.tools.find((tool) => tool.name === name)!
    return fixture.call(server, name, { pinned, effects: pinned.effects, input })
  }
  assert.match(
    (await call('write_file', { path: '/workspace/note.txt', content: 'hello' })).output,
    /Successfully wrote/,
  )
  assert.match((await call('read_text_file', { path: '/workspace/note.txt' })).output, /hello/)
  assert.equal(readFileSync(join(fixture.filesOf(server), 'note.txt'), 'utf8'), 'hello')
  const outside = await call('read_text_file', { path: '/etc/passwd' })
  assert.equal(outside.status, 'error')
})
