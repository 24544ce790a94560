import type { Block, BlockVersion } from '../../core/block.ts'
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
  author: { json: 'author' },
  writtenAt: 'written_at',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
})

export type BlockRow = RowOf<typeof BLOCK>

/** A replaced value of a block, without the value. */
export const BLOCK_VERSION = rowMapper<BlockVersion>()({
  version: 'version',
  characters: 'characters',
  writtenAt: 'written_at',
  author: { json: 'author' },
})

export type BlockVersionRow = RowOf<typeof BLOCK_VERSION>
