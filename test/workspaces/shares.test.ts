import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConversationId, OrganizationId } from '../../src/core/id.ts'
import { newWorkspaceShares } from '../../src/workspaces/workspace-shares.ts'

const OURS = 'org-11111111-1111-4111-8111-111111111111' as OrganizationId
const THEIRS = 'org-22222222-2222-4222-8222-222222222222' as OrganizationId

function newShares(limits: { workspaces: number; awake: number; processes: number }) {
  const existing: ConversationId[] = []
  const shares = newWorkspaceShares({
    processes: 10,
    list: async () => existing,
    tenantOf: async (id) => ({ organizationId: id.startsWith('conv-ours') ? OURS : THEIRS, ...limits }),
  })
  return { shares, existing }
}

test('an organization has no more workspaces than its limit, and its neighbor has its own', async () => {
  const { shares, existing } = newShares({ workspaces: 2, awake: 0, processes: 0 })
  existing.push('conv-ours1', 'conv-ours2')
  await assert.rejects(shares.admitNew('conv-ours3'), /has 2 workspaces.*limits\.workspaces_per_organization/)
  await shares.admitNew('conv-theirs1')
  existing.pop()
  await shares.admitNew('conv-ours3')
  assert.deepEqual(await shares.countOf(OURS), { workspaces: 1, awake: 0 })
})

test('forty workspaces that wake at once are no more than the limit', async () => {
  const { shares } = newShares({ workspaces: 0, awake: 4, processes: 0 })
  const ids = Array.from({ length: 40 }, (_, index) => `conv-ours${index}` as const)
  const woken = await Promise.allSettled(ids.map((id) => shares.wake(id)))
  const running = woken.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  assert.equal(running.length, 4)
  await shares.wake('conv-theirs1')
  running[0]!()
  await shares.wake('conv-ours39')
  await assert.rejects(shares.wake('conv-ours38'), /limits\.awake_workspaces_per_organization/)
})

test('the processes of all workspaces of an organization are limited together', async () => {
  const { shares } = newShares({ workspaces: 0, awake: 0, processes: 25 })
  await shares.wake('conv-ours1')
  const release = await shares.wake('conv-ours2')
  await assert.rejects(shares.wake('conv-ours3'), /limits\.processes_per_organization/)
  release()
  await shares.wake('conv-ours3')
})
