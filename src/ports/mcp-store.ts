import type { McpServerId, OrganizationId } from '../core/id.ts'
import type { McpContact, McpServer } from '../core/mcp-server.ts'
import type { ToolPlan } from '../core/mcp-tools.ts'
import type { StoredTool } from '../core/stored-tool.ts'

/** What to do with the tools of a server, decided on what is stored at that moment. It may be asked more than once. */
export type PlanTools = (stored: { known: StoredTool[]; isTaken(name: string): boolean }) => ToolPlan

/** What was found at a server, as `revision` knew it; without a plan its tools stay as they are. */
type McpContactRecord = { revision: number; contact: McpContact; plan?: PlanTools; at: number }

export type McpServerStore = {
  /** With its tools: all of it or nothing. */
  create(server: McpServer, plan?: PlanTools): Promise<'created' | 'name-taken'>
  get(organizationId: OrganizationId, id: McpServerId): Promise<McpServer | undefined>
  /** In order of making. */
  list(organizationId: OrganizationId): Promise<McpServer[]>
  /** A new name is on its tools too. `edit` must be a pure function. */
  update(
    organizationId: OrganizationId,
    id: McpServerId,
    edit: (server: McpServer) => McpServer,
  ): Promise<McpServer | 'name-taken' | undefined>
  /** With its tools; agents no longer have them. */
  delete(organizationId: OrganizationId, id: McpServerId): Promise<boolean>
  /** `moved`: it is another server than the one that was looked at. */
  record(
    organizationId: OrganizationId,
    id: McpServerId,
    finding: McpContactRecord,
  ): Promise<ToolPlan | 'moved' | undefined>
  tools(organizationId: OrganizationId, id: McpServerId): Promise<StoredTool[]>
  /** Every organization's, for the rotation of the key. `after` is the last number seen. */
  sealedPage(after: number, limit: number): Promise<{ number: number; id: McpServerId; sealed: { secret: string } }[]>
  /** The same secrets in another ciphertext. False: they changed meanwhile. */
  reseal(id: McpServerId, from: { secret: string }, to: { secret: string }): Promise<boolean>
}
