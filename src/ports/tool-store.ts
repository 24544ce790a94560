import type { OrganizationId, ToolId } from '../core/id.ts'
import type { StoredTool } from '../core/stored-tool.ts'

export type StoredToolStore = {
  create(tool: StoredTool): Promise<'created' | 'name-taken'>
  get(organizationId: OrganizationId, id: ToolId): Promise<StoredTool | undefined>
  /** By name, the ones there are. */
  named(organizationId: OrganizationId, names: readonly string[]): Promise<StoredTool[]>
  all(organizationId: OrganizationId): Promise<StoredTool[]>
  /** A new name is the new name on every agent that has it. */
  update(
    organizationId: OrganizationId,
    id: ToolId,
    edit: (tool: StoredTool) => StoredTool,
  ): Promise<StoredTool | 'name-taken' | undefined>
  /** Agents no longer have it. */
  delete(organizationId: OrganizationId, id: ToolId): Promise<boolean>
}
