import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { newLaunchLock } from '../../src/workspaces/launch-lock.ts'
import { newConversationId } from './fixture-workspaces.ts'

test('a launch waits for no other workspace, and for its own one also after the lock file was removed', async (context) => {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-locks-'))
  context.after(() => rmSync(root, { recursive: true }))
  const lock = newLaunchLock(root)
  const release = Promise.withResolvers<void>()
  const held = Array.from({ length: 150 }, newConversationId).map((name) => {
    const taken = Promise.withResolvers<void>()
    const done = lock.while(name, async () => {
      taken.resolve()
      await release.promise
      lock.forget(name)
    })
    return { name, taken: taken.promise, done }
  })
  // All at once: none waits for another one.
  await Promise.all(held.map(({ taken }) => taken))
  const another = newLaunchLock(root)
  const order: string[] = []
  const waiting = another.while(held[0]!.name, async () => void order.push('second'))
  order.push('first')
  release.resolve()
  await Promise.all([waiting, ...held.map(({ done }) => done)])
  assert.deepEqual(order, ['first', 'second'])
})
