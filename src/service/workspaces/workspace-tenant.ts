import type { ConversationId, OrganizationId } from '../../core/id.ts'
import type { Shares } from '../../ports/shares.ts'
import type { Store } from '../../ports/store.ts'

type WorkspaceTenantDeps = { store: { conversations: Pick<Store['conversations'], 'getAnywhere'> }; shares: Shares }

/** The organization of a conversation, and what all its workspaces may have. */
export async function workspaceTenant(
  id: ConversationId,
  { store, shares }: WorkspaceTenantDeps,
): Promise<{ organizationId: OrganizationId; workspaces: number; awake: number; processes: number } | undefined> {
  const conversation = await store.conversations.getAnywhere(id)
  if (!conversation) return undefined
  const { organizationId } = conversation
  const own = await shares.limitsOf(organizationId)
  return {
    organizationId,
    workspaces: own.workspacesPerOrganization,
    awake: own.awakeWorkspacesPerOrganization,
    processes: own.processesPerOrganization,
  }
}
