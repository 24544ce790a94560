import type { ImportObject, ImportRecord } from '../../core/import.ts'
import { type RowOf, rowMapper } from './row-mapping.ts'

export const IMPORT = rowMapper<ImportRecord>()({
  id: 'id',
  organizationId: 'organization_id',
  origin: { json: 'origin' },
  options: { json: 'options' },
  state: 'state',
  failure: 'failure',
  progress: { json: 'progress' },
  passes: 'passes',
  createdAt: 'created_at',
  startedAt: 'started_at',
  updatedAt: 'updated_at',
  finishedAt: 'finished_at',
})

export type ImportRow = RowOf<typeof IMPORT>

export const IMPORT_OBJECT = rowMapper<ImportObject>()({
  kind: 'kind',
  parent: 'parent',
  sourceId: 'source_id',
  outcome: 'outcome',
  targetId: 'target_id',
  ownerId: 'owner_id',
  reason: 'reason',
  body: 'body',
  cursor: 'read_up_to',
})

export type ImportObjectRow = RowOf<typeof IMPORT_OBJECT>
