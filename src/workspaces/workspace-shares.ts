import type { ConversationId, OrganizationId } from '../core/id.ts'
import { WorkspaceError } from '../ports/workspaces.ts'

/** The organization of a conversation, and what all its workspaces may have. 0: no limit. */
export type WorkspaceTenant = { organizationId: OrganizationId; workspaces: number; awake: number; processes: number }

type WorkspaceShares = {
  /** Refuses a workspace that would be one too many for its organization. */
  admitNew(id: ConversationId): Promise<void>
  /** Counts a workspace as awake until the returned function is called, or refuses it. */
  wake(id: ConversationId): Promise<() => void>
  organizationOf(id: ConversationId): Promise<OrganizationId | undefined>
  countOf(organizationId: OrganizationId): Promise<{ workspaces: number; awake: number }>
}

type WorkspaceSharesOptions = {
  /** Undefined for a conversation that is unknown. */
  tenantOf?: ((id: ConversationId) => Promise<WorkspaceTenant | undefined>) | undefined
  list(): Promise<ConversationId[]>
  /** Processes that one workspace may have. */
  processes: number
}

/** Workspaces per organization: how many it has, and how many are awake in this process. */
export function newWorkspaceShares({ tenantOf, list, processes }: WorkspaceSharesOptions): WorkspaceShares {
  /** A conversation never changes its organization. */
  const owners = new Map<ConversationId, OrganizationId>()
  const awake = new Map<OrganizationId, Set<ConversationId>>()

  async function tenant(id: ConversationId): Promise<WorkspaceTenant | undefined> {
    const found = await tenantOf?.(id)
    if (found) owners.set(id, found.organizationId)
    return found
  }

  /** Reads the owners of workspaces that this process has not seen. */
  async function countWorkspaces(organizationId: OrganizationId): Promise<number> {
    const existing = await list()
    const ids = new Set(existing)
    for (const id of owners.keys()) if (!ids.has(id)) owners.delete(id)
    for (const id of existing) if (!owners.has(id)) await tenant(id)
    return existing.filter((id) => owners.get(id) === organizationId).length
  }

  return {
    async admitNew(id) {
      const found = await tenant(id)
      if (!found || found.workspaces === 0) return
      const count = await countWorkspaces(found.organizationId)
      owners.set(id, found.organizationId)
      if (count < found.workspaces) return
      throw overShare(
        `This organization has ${count} workspaces, which is its limit (limits.workspaces_per_organization). Delete conversations or workspaces that are no longer needed.`,
      )
    },
    async wake(id) {
      const found = await tenant(id)
      if (!found) return () => undefined
      const { organizationId } = found
      const running = awake.get(organizationId) ?? new Set()
      // From here on nothing is awaited: workspaces that wake at the same time are counted one after the other.
      if (found.awake > 0 && running.size >= found.awake)
        throw overShare(
          `This organization has ${running.size} workspaces running, which is its limit (limits.awake_workspaces_per_organization). Wait until one of them sleeps, or end its processes.`,
        )
      if (found.processes > 0 && (running.size + 1) * processes > found.processes)
        throw overShare(
          `The ${running.size} workspaces of this organization that run may have ${running.size * processes} processes, and one more would pass its limit of ${found.processes} (limits.processes_per_organization). Wait until one of them sleeps.`,
        )
      awake.set(organizationId, running.add(id))
      return () => {
        running.delete(id)
        if (running.size === 0) awake.delete(organizationId)
      }
    },
    organizationOf: async (id) => owners.get(id) ?? (await tenant(id))?.organizationId,
    countOf: async (organizationId) => ({
      workspaces: await countWorkspaces(organizationId),
      awake: awake.get(organizationId)?.size ?? 0,
    }),
  }
}

const overShare = (message: string) => new WorkspaceError('over-share', message)
