import type { Block } from '../../core/block.ts'
import { type RowOf, rowMapper } from './row-mapping.ts'

export const BLOCK = rowMapper<Block>()({
  id: 'id',
  organizationId: 'organization_id',
  label: 'label',
  value: 'value',
  limit: 'char_limit',
  description: 'description',
  readOnly: { flag: 'read_only' },
  tags: { list: 'tags' },
  metadata: { json: 'metadata' },
  hidden: { flag: 'hidden' },
  templateName: 'template_name',
  isTemplate: { flag: 'is_template' },
  madeFor: 'made_for',
  version: 'version',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
})

export type BlockRow = RowOf<typeof BLOCK>
