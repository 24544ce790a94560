import type { Block } from '../../core/block.ts'
import type { NewRow } from '../database/schema.ts'

export type BlockRow = NewRow<'blocks'>

export const blockRowOf = (block: Block): BlockRow => ({
  id: block.id,
  organization_id: block.organizationId,
  label: block.label,
  value: block.value,
  char_limit: block.limit,
  description: block.description ?? null,
  read_only: block.readOnly ? 1 : 0,
  tags: JSON.stringify(block.tags),
  metadata: JSON.stringify(block.metadata),
  hidden: block.hidden === undefined ? null : block.hidden ? 1 : 0,
  template_name: block.templateName ?? null,
  is_template: block.isTemplate ? 1 : 0,
  version: block.version,
  created_at: block.createdAt,
  updated_at: block.updatedAt,
})

export const blockOf = (row: BlockRow): Block => ({
  id: row.id,
  organizationId: row.organization_id,
  label: row.label,
  value: row.value,
  limit: row.char_limit,
  ...(row.description === null ? {} : { description: row.description }),
  readOnly: row.read_only === 1,
  tags: JSON.parse(row.tags),
  metadata: JSON.parse(row.metadata),
  ...(row.hidden === null ? {} : { hidden: row.hidden === 1 }),
  ...(row.template_name === null ? {} : { templateName: row.template_name }),
  isTemplate: row.is_template === 1,
  version: row.version,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})
