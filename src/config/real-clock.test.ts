import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { realClock } from './real-clock.ts'

const LONG_MS = 60 * 24 * 60 * 60_000

test('an abort ends a sleep at once and leaves no listener behind', async () => {
  const controller = new AbortController()
  const sleeping = realClock.sleep(LONG_MS, controller.signal)
  assert.equal(getEventListeners(controller.signal, 'abort').length, 1)
  controller.abort()
  await sleeping
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
})

test('a sleep that has ended leaves no listener behind', async () => {
  const { signal } = new AbortController()
  await realClock.sleep(1, signal)
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('a sleep with an aborted signal returns at once', async () => {
  await realClock.sleep(LONG_MS, AbortSignal.abort())
})

test('monotonic time does not go back', () => {
  const first = realClock.monotonic()
  assert.ok(realClock.monotonic() >= first)
})

test('soon runs a task after the tasks that already wait', async () => {
  const order: string[] = []
  await new Promise<void>((resolve) => {
    realClock.soon(() => {
      order.push('soon')
      resolve()
    })
    queueMicrotask(() => order.push('waiting'))
  })
  assert.deepEqual(order, ['waiting', 'soon'])
})

test('every repeats until it is stopped', async () => {
  let count = 0
  const keepAlive = setInterval(() => {}, 1_000)
  await new Promise<void>((resolve) => {
    const stop = realClock.every(1, () => {
      count += 1
      if (count < 3) return
      stop()
      resolve()
    })
  })
  clearInterval(keepAlive)
  assert.equal(count, 3)
})
