import type { OrganizationId, ToolId } from '../core/id.ts'
import type { StoredTool } from '../core/stored-tool.ts'

export type StoredToolStore = {
  create(tool: StoredTool): Promise<'created' | 'name-taken'>
  get(organizationId: OrganizationId, id: ToolId): Promise<StoredTool | undefined>
  /** The existing tools with these names. */
  named(organizationId: OrganizationId, names: readonly string[]): Promise<StoredTool[]>
  all(organizationId: OrganizationId): Promise<StoredTool[]>
  /** Also renames it in every agent that has it. */
  update(
    organizationId: OrganizationId,
    id: ToolId,
    edit: (tool: StoredTool) => StoredTool,
  ): Promise<StoredTool | 'name-taken' | undefined>
  /** Also detaches it from agents. */
  delete(organizationId: OrganizationId, id: ToolId): Promise<boolean>
}
