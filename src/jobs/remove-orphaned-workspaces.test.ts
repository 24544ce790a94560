import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConversationId } from '../core/id.ts'
import { removeOrphanedWorkspaces, type UnknownWorkspacesPolicy } from './remove-orphaned-workspaces.ts'

const HERE: ConversationId = 'conv-here'
const DELETED: ConversationId = 'conv-deleted'
const STRANGE: ConversationId = 'conv-strange'

async function sweep(list: ConversationId[], unheardOf: UnknownWorkspacesPolicy) {
  const removed: ConversationId[] = []
  const staying = await removeOrphanedWorkspaces({
    store: {
      conversations: {
        getAnywhere: async (id) =>
          id === STRANGE ? undefined : { organizationId: 'org-any', agentId: 'agent-any', isDeleted: id === DELETED },
      },
    },
    workspaces: { list: async () => list, remove: async (id) => removed.push(id) > 0 },
    unknownWorkspaces: unheardOf,
  })
  return { removed, staying }
}

test('the workspace of a deleted conversation is removed, that of an existing one stays', async () => {
  for (const policy of ['remove', 'remove-if-others-are-known', 'keep'] as const)
    assert.deepEqual(await sweep([HERE, DELETED], policy), { removed: [DELETED], staying: [HERE] })
})

test('a workspace that the database does not know is removed if the database is certainly its own', async () => {
  assert.deepEqual((await sweep([STRANGE], 'remove')).removed, [STRANGE])
  assert.deepEqual((await sweep([HERE, STRANGE], 'remove-if-others-are-known')).removed, [STRANGE])
})

test('nothing is removed if the database knows none of the workspaces, or if servers share the folder', async () => {
  assert.deepEqual((await sweep([STRANGE], 'remove-if-others-are-known')).removed, [])
  assert.deepEqual((await sweep([HERE, STRANGE], 'keep')).removed, [])
})
