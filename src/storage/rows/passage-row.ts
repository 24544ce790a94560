import type { Passage } from '../../core/passage.ts'
import { type RowOf, rowMapper } from './row-mapping.ts'

export const PASSAGE = rowMapper<Passage>()({
  id: 'id',
  organizationId: 'organization_id',
  agentId: 'agent_id',
  text: 'content',
  tags: { list: 'tags' },
  createdAt: 'created_at',
})

export type PassageRow = RowOf<typeof PASSAGE>
