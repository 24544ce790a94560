import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Workspace } from '../../src/ports/workspaces.ts'
import { missingProgram } from '../harness/programs.ts'
import { newCommand, openWorkspacesFixture, runCommand, until } from './fixture-workspaces.ts'

const skip = missingProgram('bwrap')
const MB = 1024 * 1024

/** Another process in the same workspace, which must not be affected. */
async function withNeighbor(workspace: Workspace) {
  const { processId } = await workspace.start(newCommand('echo here; sleep 1000', { background: true }))
  return async () => {
    assert.equal((await workspace.process(processId))?.ending, undefined)
    assert.equal((await runCommand(workspace, 'echo fine')).text, 'fine\n')
  }
}

test('a fork bomb is ended by its limit, and other processes survive', { skip }, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  const neighborIsWell = await withNeighbor(workspace)
  const began = performance.now()
  const { ending } = await runCommand(workspace, 'bomb() { bomb | bomb & }; bomb; sleep 1000')
  assert.deepEqual(ending, { type: 'over-limit', limit: 'processes' })
  assert.ok(performance.now() - began < 10_000)
  await neighborIsWell()
  assert.ok(Number((await runCommand(workspace, 'ls -d /proc/[0-9]* | wc -l')).text) < 12)
})

test('a command that exceeds the memory limit is ended, for every kind of memory', { skip }, async (context) => {
  const fixture = openWorkspacesFixture(context, {
    sandbox: { quota: { memoryBytes: 200 * MB, diskBytes: 512 * MB, processes: 64 } },
  })
  const workspace = await fixture.open()
  const neighborIsWell = await withNeighbor(workspace)
  const over = { type: 'over-limit', limit: 'memory' }
  const node = (code: string) => `/holdfast/node -e '${code}'`
  const hogs = [
    node('const all = []; for (;;) all.push(Buffer.alloc(1e7, 1))'),
    // The tmpfs alone is full before the limit; together with the process's memory it exceeds the limit.
    `cat /dev/zero > /tmp/full 2>/dev/null; ls -s /tmp/full; ${node('const all = Buffer.alloc(160e6, 1); setTimeout(() => all, 1e6)')}`,
  ]
  for (const hog of hogs) {
    assert.deepEqual((await runCommand(workspace, hog)).ending, over, hog)
    await runCommand(workspace, 'rm -f /tmp/full')
    await neighborIsWell()
  }
})

test('a tmpfs has its own size limit', { skip }, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  for (const place of ['/tmp', '/dev/shm'])
    assert.match((await runCommand(workspace, `cat /dev/zero > ${place}/full; rm ${place}/full`)).text, /No space left/)
})

test('a command that fills the disk is ended by its limit, also with deleted files', {
  skip,
}, async (context) => {
  const fixture = openWorkspacesFixture(context, {
    sandbox: { quota: { memoryBytes: 512 * MB, diskBytes: 40 * MB, processes: 64 } },
  })
  const workspace = await fixture.open()
  const neighborIsWell = await withNeighbor(workspace)
  const over = { type: 'over-limit', limit: 'disk' }
  const fillers = [
    'i=0; while :; do i=$((i + 1)); head -c 1000000 /dev/zero > file-$i; done',
    'exec 5> unlinked; rm unlinked; for i in $(seq 30); do head -c 1000000 /dev/zero >&5; done; exec 6> other; rm other; while :; do head -c 100000 /dev/zero >&6; sleep 0.01; done',
  ]
  for (const filler of fillers) {
    assert.deepEqual((await runCommand(workspace, filler)).ending, over, filler)
    await neighborIsWell()
    // A workspace over its limit can be cleaned up.
    assert.deepEqual((await runCommand(workspace, 'rm -f file-*')).ending, { type: 'exited', code: 0 })
  }
  const { text } = await runCommand(
    workspace,
    'truncate -s 1T sparse; echo $?; dd if=/dev/zero of=large bs=1M count=100; rm -f large',
  )
  assert.match(text, /File too large|File size limit/i)
})

test('endless output is counted, limited on disk, and does not block the command', { skip }, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  const { processId } = await workspace.start(
    newCommand('yes | head -c 100000000; echo end > said', { background: true }),
  )
  const state = await workspace.wait(processId, AbortSignal.timeout(30_000))
  assert.deepEqual(state.ending, { type: 'exited', code: 0 })
  const { total, dropped, text } = await workspace.output(processId, { last: 10 })
  assert.deepEqual([total, dropped, text], [64 * MB, 100_000_000 - 64 * MB, 'y\n'.repeat(5)])
  const endless = await workspace.start(newCommand('yes', { background: true }))
  await until(async () => (await workspace.output(endless.processId, { last: 1 })).dropped > 0)
  assert.equal((await runCommand(workspace, 'echo fine')).text, 'fine\n')
  assert.equal((await workspace.kill(endless.processId, 'asked')).ending?.type, 'killed')
})

test('a command that ignores SIGTERM is ended with SIGKILL', { skip }, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  const stubborn = newCommand('trap "" TERM INT HUP QUIT; echo ready; while :; do sleep 0.1; done', {
    background: true,
  })
  const { processId } = await workspace.start(stubborn)
  await until(async () => (await workspace.output(processId, { last: 10 })).text === 'ready\n')
  const began = performance.now()
  const { ending } = await workspace.kill(processId, 'timed-out')
  assert.deepEqual(ending, { type: 'killed', signal: 'SIGKILL', why: 'timed-out' })
  assert.ok(performance.now() - began < 6_000)
})
