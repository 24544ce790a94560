import type { McpServerId, OrganizationId } from '../core/id.ts'
import type { McpContact, McpServer } from '../core/mcp-server.ts'
import type { ToolPlan } from '../core/mcp-tools.ts'
import type { StoredTool } from '../core/stored-tool.ts'

/** Decides how the tools of a server change, given what is stored. The store may call it more than once. */
export type PlanTools = (stored: { known: StoredTool[]; isTaken(name: string): boolean }) => ToolPlan

/** Result of contacting a server at `revision`. Without a plan its tools stay unchanged. */
type McpContactRecord = { revision: number; contact: McpContact; plan?: PlanTools; at: number }

export type McpServerStore = {
  /** Stores the server and its tools atomically. */
  create(server: McpServer, plan?: PlanTools): Promise<'created' | 'name-taken'>
  get(organizationId: OrganizationId, id: McpServerId): Promise<McpServer | undefined>
  /** In order of creation. */
  list(organizationId: OrganizationId): Promise<McpServer[]>
  /** A new name is also applied to its tools. `edit` must be a pure function. */
  update(
    organizationId: OrganizationId,
    id: McpServerId,
    edit: (server: McpServer) => McpServer,
  ): Promise<McpServer | 'name-taken' | undefined>
  /** Also deletes its tools and detaches them from agents. */
  delete(organizationId: OrganizationId, id: McpServerId): Promise<boolean>
  /** `moved`: the server was changed since `revision`. */
  record(
    organizationId: OrganizationId,
    id: McpServerId,
    finding: McpContactRecord,
  ): Promise<ToolPlan | 'moved' | undefined>
  tools(organizationId: OrganizationId, id: McpServerId): Promise<StoredTool[]>
  /** Pages over all organizations, for key rotation. `after` is the last number seen. */
  sealedPage(after: number, limit: number): Promise<{ number: number; id: McpServerId; sealed: { secret: string } }[]>
  /** Replaces the ciphertext of unchanged secrets. False: they changed meanwhile. */
  reseal(id: McpServerId, from: { secret: string }, to: { secret: string }): Promise<boolean>
}
