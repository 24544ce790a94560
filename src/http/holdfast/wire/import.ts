import { z } from 'zod'
import { IMPORT_KINDS, type ImportObject } from '../../../core/import.ts'
import type { ImportReport } from '../../../service/imports/imports.ts'
import { json } from '../../field.ts'
import { dateSchema, wireDate } from '../../wire-date.ts'

const kind = z.enum(IMPORT_KINDS)
const count = z.int()

const tallySchema = z.lazy(() =>
  z.object({
    kind,
    source: count.describe('Objects at the source.'),
    imported: count.describe('Objects that are here.'),
    remapped: count.describe('Of these: objects with another id, because theirs was taken.'),
    kept: count.describe('Objects without a home here, kept with the import.'),
    left_out: count.describe('Objects left out for the reason in `remarks`.'),
    failed: count.describe('Objects that could not be read; the same import tries them again.'),
    deleted: count.describe('Imported objects that were deleted here since.'),
    missing: count.describe('Objects of which nothing is known: a fault if the import is done.'),
  }),
)

const remarkSchema = z.lazy(() =>
  z.object({
    kind,
    id: z.string().describe('Id at the source.'),
    parent: z.string().nullable().describe('Conversation of a message, by its id at the source.'),
    outcome: z.enum(['imported', 'kept', 'left-out', 'failed', 'deleted']),
    id_here: z.string().nullable(),
    reason: z.string().nullable(),
  }),
)

export const importSchema = z.lazy(() =>
  z
    .object({
      id: z.string(),
      source: z.string().describe('Address or file that the import reads.'),
      state: z.enum(['running', 'done', 'failed', 'stopped']),
      complete: z.boolean().describe('Whether all of the source is here or has a reason that stays.'),
      failure: z.string().nullable().describe('Why it failed, and what to do.'),
      stage: z.string().describe('What it does now.'),
      version: z.string().nullable().describe('Version of the source.'),
      dry_run: z.boolean(),
      passes: z.int().describe('How often it was started.'),
      progress: z.object({
        done: count.describe('Objects that have a row: imported, or with a reason.'),
        total: count.nullable().describe('Objects that the source says it has; null while that is unknown.'),
        per_second: z.number().describe('Objects per second of this pass.'),
        seconds_left: z.number().nullable(),
      }),
      counts: z.array(tallySchema).describe('Both sides, kind by kind.'),
      remarks: z.array(remarkSchema).describe('Objects with a reason: failures first, at most 1,000.'),
      created_at: dateSchema,
      started_at: dateSchema,
      updated_at: dateSchema,
      finished_at: dateSchema.nullable(),
    })
    .meta({ id: 'Import', description: 'A retired server, or an export, that is imported as a whole.' }),
)

type WireImport = z.output<typeof importSchema>

export function wireImport({ record, tallies, complete, remarks }: ImportReport): WireImport {
  const { origin, progress, startedAt, updatedAt, finishedAt } = record
  return {
    id: record.id,
    source: origin.type === 'server' ? origin.url : origin.path,
    state: record.state,
    complete,
    failure: record.failure ?? null,
    stage: progress.stage,
    version: progress.version ?? null,
    dry_run: record.options.dryRun ?? false,
    passes: record.passes,
    progress: paceOf({ record, tallies }),
    counts: tallies.map(({ leftOut, ...rest }) => ({ ...rest, left_out: leftOut })),
    remarks: remarks.map(wireRemark),
    created_at: wireDate(record.createdAt),
    started_at: wireDate(startedAt),
    updated_at: wireDate(updatedAt),
    finished_at: finishedAt === undefined ? null : wireDate(finishedAt),
  }
}

const wireRemark = ({ kind, sourceId, parent, outcome, targetId, reason }: ImportObject) => ({
  kind,
  id: sourceId,
  parent: parent || null,
  outcome,
  id_here: targetId ?? null,
  reason: reason ?? null,
})

/** Counts, rate and time left, as far as the source says how much it has. */
function paceOf({ record, tallies }: Pick<ImportReport, 'record' | 'tallies'>): WireImport['progress'] {
  const { progress, startedAt, updatedAt, state } = record
  const done = tallies.reduce((sum, tally) => sum + tally.source - tally.missing, 0)
  const isCounted = Object.keys(progress.stated).length > 1
  const total = isCounted || state === 'done' ? tallies.reduce((sum, { source }) => sum + source, 0) : null
  const read = Object.values(progress.read).reduce((sum, each) => sum + each, 0)
  const seconds = Math.max(0.001, (updatedAt - startedAt) / 1_000)
  const rate = read / seconds
  const left = total === null || rate === 0 || state !== 'running' ? null : Math.round((total - done) / rate)
  return { done, total, per_second: Math.round(rate * 10) / 10, seconds_left: left }
}

export const keptObjectSchema = z.lazy(() =>
  z.object({
    kind,
    id: z.string(),
    reason: z.string(),
    body: json.describe('JSON of the object, as the source has it.'),
  }),
)

export const wireKeptObject = ({ kind, sourceId, reason, body }: ImportObject) => ({
  kind,
  id: sourceId,
  reason: reason ?? '',
  body: body === undefined ? null : JSON.parse(body),
})
