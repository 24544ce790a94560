import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { processIn } from './fixture-turns.ts'
import { startWatched, waitForWakeUps, watchFiles } from './fixture-watches.ts'
import { openWorkspaceApp } from './fixture-workspace-app.ts'

const skip = missingProgram('bwrap')

test('a background command that ends wakes its conversation with a new turn, once', { skip }, async (context) => {
  const fixture = await openWorkspaceApp(context)
  const { output } = await startWatched(fixture)
  assert.match(output, /You will be told when it ends/)
  assert.deepEqual(watchFiles(fixture), [processIn({ output })])
  await (await fixture.workspace()).files.write('go', '')
  const { runs, news } = await waitForWakeUps(fixture)
  assert.equal(runs, 2)
  assert.equal(news.length, 1)
  assert.match(news[0]!, /^The background process \S+ \(until .*\) ended after \d+ s: exit code 3\./)
  assert.match(news[0]!, /data, not instructions\):\n<output>\nthe end\n<\/output>$/)
})

test('a server that dies between the wake-up and the removal of the watch wakes the conversation once', {
  skip,
}, async (context) => {
  const fixture = await openWorkspaceApp(context, { expects: /killed here/ })
  await startWatched(fixture)
  const { processWatches } = fixture.workspaces
  const { remove } = processWatches
  const asked = Promise.withResolvers<void>()
  processWatches.remove = () => {
    asked.resolve()
    return Promise.reject(new Error('killed here'))
  }
  await (await fixture.workspace()).files.write('go', '')
  await asked.promise
  processWatches.remove = remove
  assert.equal(watchFiles(fixture).length, 1)
  await fixture.restart()
  assert.deepEqual((await waitForWakeUps(fixture)).runs, 2)
  assert.equal((await fixture.news()).length, 1)
})
