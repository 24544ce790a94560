import type { BlockAuthor } from '../core/block.ts'
import type { AgentId, OrganizationId } from '../core/id.ts'
import type { ToolWrite } from '../core/tool-write.ts'

/** Writes of a tool that runs outside a turn. In a turn they belong to the event that ends the call. */
export type ToolWriteStore = {
  /** All or none. `stale`: a row has changed since the tool read it, and nothing was written. */
  carryOut(
    writer: { organizationId: OrganizationId; agentId: AgentId; author: BlockAuthor },
    writes: readonly ToolWrite[],
    at: number,
  ): Promise<'done' | 'stale'>
}
