import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_ORGANIZATION } from '../../src/core/id.ts'
import type { Store } from '../../src/ports/store.ts'
import type { Workspace } from '../../src/ports/workspaces.ts'
import { cancelRun } from '../../src/service/runs/runs.ts'
import { missingProgram } from '../harness/programs.ts'
import { processIn } from './fixture-turns.ts'
import { startWatched, WAITING, waitForWakeUps, watchFiles } from './fixture-watches.ts'
import { openWorkspaceApp } from './fixture-workspace-app.ts'
import { until } from './fixture-workspaces.ts'

const skip = missingProgram('bwrap')

test('a command that moves to the background wakes its conversation too, one that ends in time does not', {
  skip,
}, async (context) => {
  const fixture = await openWorkspaceApp(context)
  await fixture.call({ tool: 'shell', input: { command: 'true', notify: true } })
  assert.deepEqual(watchFiles(fixture), [])
  await startWatched(fixture, { background: false, timeout_seconds: 1 })
  await (await fixture.workspace()).files.write('go', '')
  assert.equal((await waitForWakeUps(fixture)).news.length, 1)
})

test('a watch can be added later, and killing the process removes it', { skip }, async (context) => {
  const fixture = await openWorkspaceApp(context)
  const process_id = processIn(await startWatched(fixture, { notify: false }))
  assert.deepEqual(watchFiles(fixture), [])
  await fixture.call({ tool: 'process', input: { action: 'notify', process_id } })
  assert.deepEqual(watchFiles(fixture), [process_id])
  await fixture.call({ tool: 'process', input: { action: 'kill', process_id } })
  assert.deepEqual(await waitForWakeUps(fixture), { runs: 3, news: [] })
})

test('a turn that waits for the end gets it as its answer, and no other turn starts', { skip }, async (context) => {
  const fixture = await openWorkspaceApp(context)
  const { find } = fixture.workspaces
  let watchers = 0
  fixture.workspaces.find = async (id) => {
    const found = await find(id)
    const wait: Workspace['wait'] = (...about) => {
      watchers += 1
      return found!.wait(...about)
    }
    return found && { ...found, wait }
  }
  const process_id = processIn(await startWatched(fixture))
  // The janitor has seen the watch and waits for the process itself.
  await until(() => watchers === 1)
  const runId = await fixture.begin({ tool: 'process', input: { action: 'wait', process_id } })
  await until(() => watchers === 2)
  await (await fixture.workspace()).files.write('go', '')
  await fixture.wait(runId)
  assert.match((await fixture.outcomes(runId))[0]?.output ?? '', /exit code 3/)
  // A wake-up for the other process would have come before this one.
  const later = { tool: 'shell', input: { command: 'sleep 1.5; exit 4', background: true, notify: true } }
  assert.match((await fixture.call(later)).output, /You will be told/)
  const { runs, news } = await waitForWakeUps(fixture)
  assert.deepEqual([runs, news.length], [4, 1])
  assert.match(news[0]!, /exit code 4/)
})

test('if a process ends while no server runs, the next server wakes the conversation', { skip }, async (context) => {
  const fixture = await openWorkspaceApp(context)
  const process_id = processIn(await startWatched(fixture))
  await fixture.restart(async (workspaces) => {
    const workspace = await workspaces.find(fixture.conversationId)
    await workspace?.files.write('go', '')
    const ended = await workspace?.wait(process_id, AbortSignal.timeout(10_000))
    assert.deepEqual(ended?.ending, { type: 'exited', code: 3 })
  })
  const { runs, news } = await waitForWakeUps(fixture)
  assert.deepEqual([runs, news.length], [2, 1])
})

test('a conversation that waits for an approval is woken when that run has ended', { skip }, async (context) => {
  const fixture = await openWorkspaceApp(context)
  await startWatched(fixture)
  const runId = await fixture.begin({ tool: 'shell', input: { command: 'rm -rf everything' } })
  assert.equal((await fixture.wait(runId)).stopReason, 'requires_approval')
  await (await fixture.workspace()).files.write('go', '')
  await until(async () => (await (await fixture.workspace()).processes()).every(({ ending }) => ending))
  await fixture.restart()
  assert.equal(watchFiles(fixture).length, 1)
  await cancelRun(runId, fixture.app.context)
  const { news } = await waitForWakeUps(fixture)
  assert.equal(news.length, 1)
})

test('a cancelled run does not wake its conversation', { skip }, async (context) => {
  const fixture = await openWorkspaceApp(context)
  const runId = await fixture.begin(
    { tool: 'shell', input: { command: WAITING, background: true, notify: true } },
    { tool: 'shell', input: { command: 'sleep 1000' } },
  )
  await until(() => watchFiles(fixture).length === 1)
  await until(async () => (await fixture.outcomes(runId)).length === 1)
  await cancelRun(runId, fixture.app.context)
  const { runs, news } = await waitForWakeUps(fixture)
  assert.deepEqual([runs, news], [1, []])
})

test('the watch of a deleted conversation is removed with it', { skip }, async (context) => {
  const deleted = new Set<string>()
  const wrapStore = (store: Store): Store => ({
    ...store,
    conversations: {
      ...store.conversations,
      getAnywhere: async (id) => {
        const found = await store.conversations.getAnywhere(id)
        return found && deleted.has(id) ? { ...found, isDeleted: true } : found
      },
    },
  })
  const fixture = await openWorkspaceApp(context, { wrapStore })
  await startWatched(fixture)
  deleted.add(fixture.conversationId)
  await (await fixture.workspace()).files.write('go', '')
  await until(() => watchFiles(fixture).length === 0)
  assert.equal((await fixture.app.context.deps.store.runs.list(DEFAULT_ORGANIZATION, {}, { limit: 9 })).length, 1)
})
