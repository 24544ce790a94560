import { defined } from '../../core/defined.ts'
import { type AgentId, type IdPrefix, parseId } from '../../core/id.ts'
import type { ImportKind, ImportObject } from '../../core/import.ts'
import type { SourceItem } from '../../ports/import-source.ts'
import type { ImportLease, KnownObject, Placement } from '../../ports/import-store.ts'
import type { ServiceContext } from '../service-context.ts'

/** Writes objects with their rows; rejects if the import belongs to another worker now. */
export type Place = (placement: Placement) => Promise<void>

export type PlacerDeps = { lease: ImportLease; context: ServiceContext; place: Place }

const PREFIXES = {
  tool: 'tool',
  'mcp-server': 'mcp_server',
  block: 'block',
  agent: 'agent',
  conversation: 'conv',
  message: 'message',
  passage: 'passage',
} as const satisfies Partial<Record<ImportKind, IdPrefix>>

export type PlacedKind = keyof typeof PREFIXES

/** The id an object gets here: its own, unless that is taken or has another form. */
export function idHere<K extends PlacedKind>(
  kind: K,
  sourceId: string,
  { state, context }: { state: KnownObject['state']; context: ServiceContext },
): { id: `${(typeof PREFIXES)[K]}-${string}`; reason?: string } {
  const prefix = PREFIXES[kind]
  const kept = parseId(prefix, sourceId)
  if (kept && state !== 'taken') return { id: kept }
  const reason = kept
    ? 'Its id was taken here: it has another one.'
    : 'Its id has another form than ids here: it has another one.'
  return { id: `${prefix}-${context.deps.randomness.uuid()}` as never, reason }
}

type ImportedFields = { targetId: string; parent?: string; ownerId?: AgentId; reason?: string | undefined }

/** The row of an object that is here. */
export const imported = (
  kind: ImportKind,
  sourceId: string,
  { targetId, parent = '', ownerId, reason }: ImportedFields,
): ImportObject => ({ kind, sourceId, parent, outcome: 'imported', targetId, ...defined({ ownerId, reason }) })

/** The row of an object that is not imported. */
export const rowOf = (item: Extract<SourceItem, { type: 'kept' | 'left-out' | 'failed' }>): ImportObject => ({
  kind: item.kind,
  sourceId: item.id,
  parent: item.type === 'kept' ? '' : (item.parent ?? ''),
  outcome: item.type,
  reason: item.reason,
  ...defined({
    body: item.type === 'kept' ? JSON.stringify(item.body) : undefined,
    targetId: item.type === 'left-out' ? item.targetId : undefined,
  }),
})
