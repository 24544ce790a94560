import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { McpServer } from '../../src/core/mcp-server.ts'
import { missingProgram } from '../harness/programs.ts'
import { callOf, node, openStdioFixture } from './fixture-stdio.ts'

const skip = missingProgram('bwrap')

/** Processes of this machine whose command line names the server: its sandbox, seen from outside. */
const processesOf = ({ id }: McpServer): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(id)
      } catch {
        return false
      }
    })
    .map(Number)

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await setTimeout(20)
}

test('a program killed with -9 in the middle of a call: its outcome is unknown, the call is not repeated, the next one starts it', {
  skip,
}, async (t) => {
  const fixture = await openStdioFixture(t)
  const server = fixture.server(node('test.mjs'))
  const call = callOf(fixture, server)
  const callsSeen = () =>
    readFileSync(join(fixture.filesOf(server), 'calls'), 'utf8')
      .trim()
      .split('\n')
  assert.equal((await call('echo')).output, 'echo')
  const hung = call('hang', { session: 'two' })
  await until(() => callsSeen().includes('hang'))
  const pids = processesOf(server)
  assert.ok(pids.length > 0)
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  const lost = await hung
  assert.equal(lost.status, 'unknown')
  assert.match(lost.output, /lost during this call: .*It may or may not have taken effect/)
  assert.equal((await call('echo')).output, 'echo')
  assert.equal(callsSeen().filter((one) => one === 'hang').length, 1)
})

test('a graceful stop while a call is open ends it with a clear outcome and leaves no process behind', {
  skip,
}, async (t) => {
  const fixture = await openStdioFixture(t)
  const server = fixture.server(node('test.mjs'))
  const call = callOf(fixture, server)
  assert.equal((await call('echo')).output, 'echo')
  // The first one hangs, the second one does not even read: it must be killed.
  for (const tool of ['hang', 'freeze']) {
    const open = call(tool, { session: tool })
    await until(() => readFileSync(join(fixture.filesOf(server), 'calls'), 'utf8').includes(tool))
    if (tool === 'freeze') {
      await fixture.mcp.close()
      const { status, output } = await open
      assert.equal(status, 'unknown')
      assert.match(output, /may or may not have taken effect/)
    } else void open.catch(() => undefined)
  }
  await until(() => processesOf(server).length === 0)
  assert.match((await call('echo')).output, /shutting down/)
})

test('while programs flood, die and send too much, calls of another program are answered', { skip }, async (t) => {
  const fixture = await openStdioFixture(t)
  const good = fixture.server(node('test.mjs'))
  const callGood = callOf(fixture, good)
  const latencies: number[] = []
  let isOver = false
  const before = process.memoryUsage().rss
  let most = before
  await callGood('echo')
  const asking = (async () => {
    while (!isOver) {
      const at = performance.now()
      assert.equal((await callGood('echo', { session: 'good' })).output, 'echo')
      latencies.push(performance.now() - at)
      most = Math.max(most, process.memoryUsage().rss)
      await setTimeout(5)
    }
  })()
  for (const tool of ['flood', 'noise', 'long', 'die', 'huge']) {
    const count = latencies.length
    const bad = fixture.server(node('test.mjs'))
    const answer = await callOf(fixture, bad)(tool)
    assert.equal(answer.status, 'unknown', tool)
    await until(() => latencies.length > count)
  }
  isOver = true
  await asking
  latencies.sort((a, b) => a - b)
  const at = (share: number) => latencies[Math.floor((latencies.length - 1) * share)]!.toFixed(1)
  const mb = (bytes: number) => (bytes / 1024 / 1024).toFixed(0)
  t.diagnostic(`calls ${latencies.length}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, most ${at(1)} ms`)
  t.diagnostic(`memory of the server: ${mb(before)} MB before, ${mb(most)} MB at most`)
})

test('a list of tools without an end is refused with its limit, and a long one is read', { skip }, async (t) => {
  const fixture = await openStdioFixture(t)
  const long = await fixture.mcp.list(fixture.server(node('test.mjs', 'tools=900')))
  assert.ok(long.type === 'listed' && long.tools.length >= 900)
  const endless = await fixture.mcp.list(fixture.server(node('test.mjs', 'tools=5000')))
  assert.deepEqual([endless.type, /more than 1000 tools/.test(JSON.stringify(endless))], ['failed', true])
  const garbage = await fixture.mcp.list(fixture.server(node('test.mjs', 'garbage')))
  assert.deepEqual([garbage.type, /are not messages/.test(JSON.stringify(garbage))], ['failed', true])
})
