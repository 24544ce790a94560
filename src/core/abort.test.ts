import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aborted, untilAborted } from './abort.ts'

test('work that ends before the abort gives its value or its error', async () => {
  const { signal } = new AbortController()
  assert.equal(await untilAborted(Promise.resolve('done'), signal), 'done')
  await assert.rejects(untilAborted(Promise.reject(new Error('broken')), signal), /broken/)
})

test('an abort ends the wait for work that never ends, and a later error of that work is dropped', async () => {
  const controller = new AbortController()
  const work = Promise.withResolvers<string>()
  const wait = untilAborted(work.promise, controller.signal)
  controller.abort()
  assert.equal(await wait, undefined)
  work.reject(new Error('too late'))
  await assert.rejects(work.promise)
})

test('a signal that is already aborted takes effect at once', async () => {
  const signal = AbortSignal.abort()
  assert.equal(await untilAborted(new Promise(() => {}), signal), undefined)
  await aborted(signal)
})

test('a wait ends at the abort and not before', async () => {
  const controller = new AbortController()
  let isOver = false
  const wait = aborted(controller.signal).then(() => {
    isOver = true
  })
  await Promise.resolve()
  assert.equal(isOver, false)
  controller.abort()
  await wait
  assert.equal(isOver, true)
})
