import type { ConversationId } from '../core/id.ts'
import type { Store } from '../ports/store.ts'
import type { Workspaces } from '../ports/workspaces.ts'

type RemoveOrphanedWorkspacesDeps = {
  store: { conversations: Pick<Store['conversations'], 'getAnywhere'> }
  workspaces: Pick<Workspaces, 'list' | 'remove'>
  unknownWorkspaces: UnknownWorkspacesPolicy
}

/**
 * What becomes of a workspace whose conversation this database has never heard of. It may have gone with its agent; or this
 * is the wrong database, or a folder that servers share, and then it is in use elsewhere.
 */
export type UnknownWorkspacesPolicy = 'remove' | 'remove-if-others-are-known' | 'keep'

/** Removes workspaces of conversations that were deleted while no process could remove them. Answers with those that stay. */
export async function removeOrphanedWorkspaces({
  store,
  workspaces,
  unknownWorkspaces: policy,
}: RemoveOrphanedWorkspacesDeps): Promise<ConversationId[]> {
  const staying: ConversationId[] = []
  const deleted: ConversationId[] = []
  const unheardOf: ConversationId[] = []
  for (const id of await workspaces.list()) {
    const whose = await store.conversations.getAnywhere(id)
    const kind = !whose ? unheardOf : whose.isDeleted ? deleted : staying
    kind.push(id)
  }
  const areGone = policy === 'remove' || (policy !== 'keep' && staying.length + deleted.length > 0)
  for (const id of [...deleted, ...(areGone ? unheardOf : [])]) await workspaces.remove(id)
  return staying
}
