import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newLoopShare } from './loop-share.ts'

/** An event loop whose time passes by hand. */
function virtualLoop() {
  const loop = { idle: 0, active: 0 }
  const share = newLoopShare({
    loopTime: () => ({ ...loop }),
    now: () => loop.idle + loop.active,
    later: (task) => task(),
  })
  const begun: string[] = []
  const enter = (organization: string) => share.enter(organization, () => begun.push(organization))
  return { loop, share, begun, enter }
}

test('an organization that is alone is never held back', () => {
  const { loop, share, begun, enter } = virtualLoop()
  for (let count = 0; count < 200; count++) {
    enter('only')
    loop.active += 10
  }
  assert.equal(begun.length, 200)
  share.close()
})

test('beside others, an organization that used up its share waits, and the others start at once', async () => {
  const { loop, share, begun, enter } = virtualLoop()
  enter('quiet')()
  const leave = enter('greedy')
  loop.active += 300
  leave()
  enter('greedy')
  assert.deepEqual(begun, ['quiet', 'greedy'], 'the debt of 300 ms is not paid')
  enter('quiet')
  assert.deepEqual(begun, ['quiet', 'greedy', 'quiet'])
  // Idle time pays the debt.
  loop.idle += 800
  while (begun.length < 4) await new Promise((resolve) => setTimeout(resolve, 2))
  assert.equal(begun.at(-1), 'greedy')
  share.close()
})

test('many requests at once start a few at a time, each when one has ended', () => {
  const { share, begun, enter } = virtualLoop()
  enter('quiet')()
  const leaves = Array.from({ length: 12 }, () => enter('greedy'))
  const started = begun.length
  assert.ok(started < 12, `${started} started`)
  leaves[0]!()
  assert.equal(begun.length, started + 1)
  share.close()
})

test('a client that left while it waited starts nothing', () => {
  const { share, begun, enter } = virtualLoop()
  enter('quiet')()
  const leaves = Array.from({ length: 6 }, () => enter('greedy'))
  const started = begun.length
  for (const leave of leaves.slice(started - 1)) leave()
  for (const leave of leaves) leave()
  assert.equal(begun.length, started)
  share.close()
})

test('a loop without idle time still serves the one that waits', async () => {
  const { loop, share, begun, enter } = virtualLoop()
  enter('quiet')()
  const leave = enter('greedy')
  loop.active += 2_000
  leave()
  enter('quiet')
  enter('greedy')
  const before = begun.length
  while (begun.length === before) {
    loop.active += 100
    await new Promise((resolve) => setTimeout(resolve, 2))
    enter('quiet')()
    if (begun.at(-1) === 'quiet') begun.pop()
  }
  assert.equal(begun.at(-1), 'greedy')
  share.close()
})
