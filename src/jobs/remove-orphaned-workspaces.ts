import type { ConversationId } from '../core/id.ts'
import type { Store } from '../ports/store.ts'
import type { Workspaces } from '../ports/workspaces.ts'

type RemoveOrphanedWorkspacesDeps = {
  store: { conversations: Pick<Store['conversations'], 'getAnywhere'> }
  workspaces: Pick<Workspaces, 'list' | 'remove'>
  unknownWorkspaces: UnknownWorkspacesPolicy
}

/**
 * What to do with a workspace whose conversation is not in the database. It may have been deleted with its agent; or
 * the database is the wrong one, or servers share the folder, and then the workspace is in use elsewhere.
 */
export type UnknownWorkspacesPolicy = 'remove' | 'remove-if-others-are-known' | 'keep'

/** Removes workspaces of conversations that were deleted while no process could remove them. Returns the others. */
export async function removeOrphanedWorkspaces({
  store,
  workspaces,
  unknownWorkspaces: policy,
}: RemoveOrphanedWorkspacesDeps): Promise<ConversationId[]> {
  const staying: ConversationId[] = []
  const deleted: ConversationId[] = []
  const unknown: ConversationId[] = []
  for (const id of await workspaces.list()) {
    const conversation = await store.conversations.getAnywhere(id)
    const group = !conversation ? unknown : conversation.isDeleted ? deleted : staying
    group.push(id)
  }
  const removeUnknown = policy === 'remove' || (policy !== 'keep' && staying.length + deleted.length > 0)
  for (const id of [...deleted, ...(removeUnknown ? unknown : [])]) await workspaces.remove(id)
  return staying
}
