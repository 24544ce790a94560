import type { ConversationId } from '../core/id.ts'
import type { Store } from '../ports/store.ts'
import type { Workspaces } from '../ports/workspaces.ts'

type RemoveOrphanedWorkspacesDeps = {
  store: { conversations: Pick<Store['conversations'], 'getAnywhere'> }
  workspaces: Pick<Workspaces, 'list' | 'remove'>
  unknownWorkspaces: UnknownWorkspacesPolicy
}

/**
 * What to do with a workspace whose conversation is not in the database. It may have been deleted with its agent. Or
 * this is the wrong database, or servers share the folder: then the workspace is in use elsewhere.
 */
export type UnknownWorkspacesPolicy = 'remove' | 'remove-if-others-are-known' | 'keep'

/** Removes workspaces whose conversation was deleted while no janitor ran. Returns those whose conversation exists. */
export async function removeOrphanedWorkspaces({
  store,
  workspaces,
  unknownWorkspaces: policy,
}: RemoveOrphanedWorkspacesDeps): Promise<ConversationId[]> {
  const existing: ConversationId[] = []
  const deleted: ConversationId[] = []
  const unknown: ConversationId[] = []
  for (const id of await workspaces.list()) {
    const conversation = await store.conversations.getAnywhere(id)
    const group = !conversation ? unknown : conversation.isDeleted ? deleted : existing
    group.push(id)
  }
  const removeUnknown = policy === 'remove' || (policy !== 'keep' && existing.length + deleted.length > 0)
  for (const id of [...deleted, ...(removeUnknown ? unknown : [])]) await workspaces.remove(id)
  return existing
}
