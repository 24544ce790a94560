import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lacks } from '../harness/programs.ts'
import { begun, notes, settled } from './awaiting.ts'
import { processIn } from './turns.ts'
import { openWorkspaceApp } from './workspace-app.ts'

const skip = lacks('bwrap')

test('a background command that ends wakes its conversation with a new turn, once', { skip }, async (context) => {
  const house = await openWorkspaceApp(context)
  const { output } = await begun(house)
  assert.match(output, /You will be told when it ends/)
  assert.deepEqual(notes(house), [processIn({ output })])
  await (await house.workspace()).files.write('go', '')
  const { runs, news } = await settled(house)
  assert.equal(runs, 2)
  assert.equal(news.length, 1)
  assert.match(news[0]!, /^The background process \S+ \(until .*\) ended after \d+ s: exit code 3\./)
  assert.match(news[0]!, /no instruction to anybody:\n<output>\nthe end\n<\/output>$/)
})

test('whoever dies between telling it and forgetting the note tells it once', { skip }, async (context) => {
  const house = await openWorkspaceApp(context, { expects: /killed here/ })
  await begun(house)
  const { awaited } = house.workspaces
  const { remove } = awaited
  const asked = Promise.withResolvers<void>()
  awaited.remove = () => {
    asked.resolve()
    return Promise.reject(new Error('killed here'))
  }
  await (await house.workspace()).files.write('go', '')
  await asked.promise
  awaited.remove = remove
  assert.equal(notes(house).length, 1)
  await house.restart()
  assert.deepEqual((await settled(house)).runs, 2)
  assert.equal((await house.news()).length, 1)
})
