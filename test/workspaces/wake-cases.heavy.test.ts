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

test('one that is only found to take long wakes it too, one that ends in time does not', { skip }, async (context) => {
  const house = await openWorkspaceApp(context)
  await house.call({ tool: 'shell', input: { command: 'true', notify: true } })
  assert.deepEqual(watchFiles(house), [])
  await startWatched(house, { background: false, timeout_seconds: 1 })
  await (await house.workspace()).files.write('go', '')
  assert.equal((await waitForWakeUps(house)).news.length, 1)
})

test('asked for later, and taken back by whoever ends it', { skip }, async (context) => {
  const house = await openWorkspaceApp(context)
  const process_id = processIn(await startWatched(house, { notify: false }))
  assert.deepEqual(watchFiles(house), [])
  await house.call({ tool: 'process', input: { action: 'notify', process_id } })
  assert.deepEqual(watchFiles(house), [process_id])
  await house.call({ tool: 'process', input: { action: 'kill', process_id } })
  assert.deepEqual(await waitForWakeUps(house), { runs: 3, news: [] })
})

test('a turn that waits for the end hears of it there, and no other turn begins', { skip }, async (context) => {
  const house = await openWorkspaceApp(context)
  const { find } = house.workspaces
  let watchers = 0
  house.workspaces.find = async (id) => {
    const found = await find(id)
    const wait: Workspace['wait'] = (...about) => {
      watchers += 1
      return found!.wait(...about)
    }
    return found && { ...found, wait }
  }
  const process_id = processIn(await startWatched(house))
  // The keeper of workspaces has seen the note and waits itself.
  await until(() => watchers === 1)
  const runId = await house.begin({ tool: 'process', input: { action: 'wait', process_id } })
  await until(() => watchers === 2)
  await (await house.workspace()).files.write('go', '')
  await house.wait(runId)
  assert.match((await house.outcomes(runId))[0]?.output ?? '', /exit code 3/)
  // Whoever is told of this one would have been told of the other before.
  const later = { tool: 'shell', input: { command: 'sleep 1.5; exit 4', background: true, notify: true } }
  assert.match((await house.call(later)).output, /You will be told/)
  const { runs, news } = await waitForWakeUps(house)
  assert.deepEqual([runs, news.length], [4, 1])
  assert.match(news[0]!, /exit code 4/)
})

test('it ended while no server was there: the next one tells it', { skip }, async (context) => {
  const house = await openWorkspaceApp(context)
  const process_id = processIn(await startWatched(house))
  await house.restart(async (workspaces) => {
    const workspace = await workspaces.find(house.conversationId)
    await workspace?.files.write('go', '')
    const ended = await workspace?.wait(process_id, AbortSignal.timeout(10_000))
    assert.deepEqual(ended?.ending, { type: 'exited', code: 3 })
  })
  const { runs, news } = await waitForWakeUps(house)
  assert.deepEqual([runs, news.length], [2, 1])
})

test('a conversation that waits for a person is woken afterwards', { skip }, async (context) => {
  const house = await openWorkspaceApp(context)
  await startWatched(house)
  const runId = await house.begin({ tool: 'shell', input: { command: 'rm -rf everything' } })
  assert.equal((await house.wait(runId)).stopReason, 'requires_approval')
  await (await house.workspace()).files.write('go', '')
  await until(async () => (await (await house.workspace()).processes()).every(({ ending }) => ending))
  await house.restart()
  assert.equal(watchFiles(house).length, 1)
  await cancelRun(runId, house.app.context)
  const { news } = await waitForWakeUps(house)
  assert.equal(news.length, 1)
})

test('what a person cancelled wakes nobody', { skip }, async (context) => {
  const house = await openWorkspaceApp(context)
  const runId = await house.begin(
    { tool: 'shell', input: { command: WAITING, background: true, notify: true } },
    { tool: 'shell', input: { command: 'sleep 1000' } },
  )
  await until(() => watchFiles(house).length === 1)
  await until(async () => (await house.outcomes(runId)).length === 1)
  await cancelRun(runId, house.app.context)
  const { runs, news } = await waitForWakeUps(house)
  assert.deepEqual([runs, news], [1, []])
})

test('the note of a conversation that was deleted is removed with it', { skip }, async (context) => {
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
  const house = await openWorkspaceApp(context, { wrapStore })
  await startWatched(house)
  deleted.add(house.conversationId)
  await (await house.workspace()).files.write('go', '')
  await until(() => watchFiles(house).length === 0)
  assert.equal((await house.app.context.deps.store.runs.list(DEFAULT_ORGANIZATION, {}, { limit: 9 })).length, 1)
})
