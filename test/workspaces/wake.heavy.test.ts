import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { processIn } from './fixture-turns.ts'
import { startWatched, waitForWakeUps, watchFiles } from './fixture-watches.ts'
import { openWorkspaceApp } from './fixture-workspace-app.ts'

const skip = missingProgram('bwrap')

test('a background command that ends wakes its conversation with a new turn, once', { skip }, async (context) => {
  const house = await openWorkspaceApp(context)
  const { output } = await startWatched(house)
  assert.match(output, /You will be told when it ends/)
  assert.deepEqual(watchFiles(house), [processIn({ output })])
  await (await house.workspace()).files.write('go', '')
  const { runs, news } = await waitForWakeUps(house)
  assert.equal(runs, 2)
  assert.equal(news.length, 1)
  assert.match(news[0]!, /^The background process \S+ \(until .*\) ended after \d+ s: exit code 3\./)
  assert.match(news[0]!, /no instruction to anybody:\n<output>\nthe end\n<\/output>$/)
})

test('whoever dies between telling it and forgetting the note tells it once', { skip }, async (context) => {
  const house = await openWorkspaceApp(context, { expects: /killed here/ })
  await startWatched(house)
  const { processWatches } = house.workspaces
  const { remove } = processWatches
  const asked = Promise.withResolvers<void>()
  processWatches.remove = () => {
    asked.resolve()
    return Promise.reject(new Error('killed here'))
  }
  await (await house.workspace()).files.write('go', '')
  await asked.promise
  processWatches.remove = remove
  assert.equal(watchFiles(house).length, 1)
  await house.restart()
  assert.deepEqual((await waitForWakeUps(house)).runs, 2)
  assert.equal((await house.news()).length, 1)
})
