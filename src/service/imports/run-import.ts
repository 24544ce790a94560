import { defined } from '../../core/defined.ts'
import { type ImportKind, type ImportProgress, newProgress } from '../../core/import.ts'
import { Problem } from '../../core/problem.ts'
import { SourceFault, type SourceItem } from '../../ports/import-source.ts'
import type { ImportLease } from '../../ports/import-store.ts'
import { StorageError } from '../../ports/storage-error.ts'
import { requireRoomFor } from '../people/storage-quota.ts'
import type { ServiceContext } from '../service-context.ts'
import type { Place } from './object-rows.ts'
import { newPlacer } from './place-item.ts'

/** Another worker has the import, or a person stopped it: this one stops without a word. */
class LostImport extends Error {}

type PassEnd = 'over' | 'interrupted' | 'store-failed'

/** How often the progress is written while nothing else is. */
const NOTE_EVERY_MS = 1_000

/**
 * Carries an import out, from the start of its source: objects that have a row are passed over. `interrupted`: the
 * signal was aborted. `store-failed`: the same lease can try again.
 */
export async function runImport(lease: ImportLease, context: ServiceContext, signal: AbortSignal): Promise<PassEnd> {
  const { store, clock, report } = context.deps
  const { record } = lease
  const own = { ...context, organizationId: record.organizationId }
  const progress: ImportProgress = {
    ...newProgress('Asking the source what it has'),
    settled: await settledOf(own, lease),
  }
  const key = lease.sealedKey === undefined ? undefined : context.secretKeys.box.open(lease.sealedKey, record.id)
  try {
    if (lease.sealedKey !== undefined && key === undefined)
      throw new SourceFault('The key of the source cannot be decrypted. Start the import again with the key.')
    if (!record.options.dryRun) await store.imports.forgetFailures(lease)
    const place = placementsOf(lease, own, progress)
    const placer = newPlacer({ lease, context: own, place })
    const source = own.importSources(record.origin)
    let notedAt = clock.now()
    const items = source.read({
      organizationId: record.organizationId,
      options: record.options,
      signal,
      cursorOf: placer.cursorOf,
      ...defined({ key }),
    })
    for await (const item of items) {
      if (signal.aborted) return 'interrupted'
      count(progress, item)
      if (!record.options.dryRun) {
        await requireRoomFor(item, own)
        await placer.take(item)
      }
      if (item.type === 'stage' || clock.now() - notedAt > NOTE_EVERY_MS) {
        if (!(await store.imports.note(lease, progress))) throw new LostImport()
        notedAt = clock.now()
      }
    }
    await placer.flush()
    await store.imports.finish(lease, { state: 'done', progress: { ...progress, stage: 'Done' } })
    return 'over'
  } catch (fault) {
    if (fault instanceof LostImport) return 'over'
    if (signal.aborted) return 'interrupted'
    if (fault instanceof StorageError) {
      report(fault, `importing from ${record.id}`)
      return 'store-failed'
    }
    const isExpected = fault instanceof SourceFault || fault instanceof Problem
    if (!isExpected) report(fault, `importing from ${record.id}`)
    const failure = isExpected ? fault.message : 'An internal error stopped the import. The log of the server has it.'
    await store.imports.finish(lease, { state: 'failed', failure, progress })
    return 'over'
  }
}

async function settledOf({ deps, organizationId }: ServiceContext, { record }: ImportLease) {
  const settled: ImportProgress['settled'] = {}
  for (const { kind, count } of await deps.store.imports.counts(organizationId, record.id))
    settled[kind] = (settled[kind] ?? 0) + count
  return settled
}

/** Writes placements and counts their rows. */
function placementsOf(lease: ImportLease, { deps }: ServiceContext, progress: ImportProgress): Place {
  return async (placement) => {
    const settled = { ...progress.settled }
    for (const { kind } of placement.objects) settled[kind] = (settled[kind] ?? 0) + 1
    const after = { ...progress, settled }
    if (!(await deps.store.imports.place(lease, placement, after))) throw new LostImport()
    progress.settled = settled
  }
}

function count(progress: ImportProgress, item: SourceItem): void {
  const add = (part: 'stated' | 'read', kind: ImportKind, by: number) => {
    progress[part][kind] = (progress[part][kind] ?? 0) + by
  }
  switch (item.type) {
    case 'stage':
      progress.stage = item.stage
      return
    case 'version':
      progress.version = item.version
      return
    case 'stated':
      add('stated', item.kind, item.count)
      return
    case 'messages':
      for (const { id, alsoIds = [] } of item.messages) if (id !== '') add('read', 'message', 1 + alsoIds.length)
      return
    case 'agent':
      add('read', 'agent', 1)
      add('read', 'conversation', 1)
      return
    case 'kept':
    case 'left-out':
    case 'failed':
      add('read', item.kind, 1)
      return
    case 'conversation-end':
      return
    case 'tool':
    case 'mcp-server':
    case 'block':
    case 'conversation':
    case 'passage':
      add('read', item.type, 1)
  }
}
