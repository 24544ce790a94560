import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newKeyedMutex, newMutex } from './mutex.ts'

test('work runs one at a time, in order of arrival, and each caller gets its own result', async () => {
  const exclusively = newMutex()
  const steps: string[] = []
  const slow = Promise.withResolvers<void>()
  const first = exclusively(async () => {
    steps.push('first begins')
    await slow.promise
    steps.push('first ends')
    return 1
  })
  const second = exclusively(() => {
    steps.push('second')
    return 2
  })
  const third = exclusively(() => {
    steps.push('third')
    return 3
  })
  assert.deepEqual(steps, ['first begins'])
  slow.resolve()
  assert.deepEqual(await Promise.all([first, second, third]), [1, 2, 3])
  assert.deepEqual(steps, ['first begins', 'first ends', 'second', 'third'])
})

test('work that throws, at once or later, rejects for its caller and releases the mutex', async () => {
  const exclusively = newMutex()
  const failures = [
    exclusively(() => {
      throw new Error('at once')
    }),
    exclusively(() => Promise.reject(new Error('later'))),
  ]
  const after = exclusively(() => 'ran')
  const settled = await Promise.allSettled(failures)
  assert.deepEqual(
    settled.map((one) => one.status === 'rejected' && one.reason.message),
    ['at once', 'later'],
  )
  assert.equal(await after, 'ran')
})

test('a caller that arrives while the mutex is passed on does not overtake the waiting one', async () => {
  const exclusively = newMutex()
  const order: string[] = []
  const first = exclusively(async () => 'first')
  const waiting = exclusively(() => order.push('waiting'))
  const late = first.then(() => exclusively(() => order.push('late')))
  await Promise.all([waiting, late])
  assert.deepEqual(order, ['waiting', 'late'])
})

test('work on one key waits only for work on the same key', async () => {
  const exclusively = newKeyedMutex()
  const blocked = Promise.withResolvers<void>()
  const order: string[] = []
  const first = exclusively('a', () => blocked.promise)
  const second = exclusively('a', () => order.push('a'))
  await exclusively('b', () => order.push('b'))
  assert.deepEqual(order, ['b'])
  blocked.resolve()
  await Promise.all([first, second])
  assert.deepEqual(order, ['b', 'a'])
  await assert.rejects(
    exclusively('a', () => Promise.reject(new Error('failed'))),
    /failed/,
  )
  assert.equal(await exclusively('a', () => 'free again'), 'free again')
})
