import type { DatabaseSync } from 'node:sqlite'
import type { LoggedEvent, TurnEvent } from '../../../src/core/event.ts'
import { DEFAULT_ORGANIZATION } from '../../../src/core/id.ts'
import type { Remedy } from '../../../src/core/recovery.ts'
import type { NoteKind } from '../../../src/core/target.ts'
import type { Setup } from './setup.ts'
import type { ModelCall } from './unreliable-store.ts'

/** What is remembered of models, read from the rows without the code of the product. */
export type NoteCheck = {
  /** Notes that this request must obey, and notes that it may obey. */
  expectedOf(call: ModelCall): { must: ReadonlySet<string>; may: ReadonlySet<string> }
  /** Faults of the answers of one run: each must keep what its failures revealed. */
  keptFaults(events: readonly LoggedEvent[]): string[]
}

/** Clocks jump, and a request takes time after its notes were read. */
const MARGIN_MS = 600_000

export const REMEMBERED: Partial<Record<Remedy, NoteKind>> = {
  'text-only-results': 'textOnlyResults',
  'relax-schemas': 'relaxSchemas',
  'drop-long-context-beta': 'dropLongContextBeta',
  'drop-encrypted-reasoning': 'dropEncryptedReasoning',
}
const OF_ALL_CREDENTIALS: readonly NoteKind[] = ['textOnlyResults', 'relaxSchemas']

export function newNoteCheck(database: DatabaseSync): NoteCheck {
  const ofModel = database.prepare(
    'select kind, credential_id, noted_at, expires_at from model_notes where provider = ? and model = ?',
  )
  const notesOf = (provider: string, model: string, credentialId = '') =>
    ofModel
      .all(provider, model)
      .filter(({ credential_id }) => credential_id === '' || credential_id === credentialId)
      .map(({ kind, noted_at, expires_at }) => ({
        kind: String(kind),
        notedAt: Number(noted_at),
        expiresAt: Number(expires_at),
      }))

  return {
    expectedOf({ provider, request, grant, at }) {
      const notes = notesOf(provider, request.model, grant?.credentialId)
      const kindsOf = (kept: typeof notes) => new Set(kept.map(({ kind }) => kind).filter((kind) => kind !== 'window'))
      return {
        must: kindsOf(notes.filter((note) => note.notedAt < at - MARGIN_MS && note.expiresAt > at + MARGIN_MS)),
        may: kindsOf(notes.filter((note) => note.expiresAt > at - MARGIN_MS)),
      }
    },
    keptFaults(events) {
      const first = events[0]?.event
      if (first?.type !== 'input-accepted') return []
      const faults: string[] = []
      let refused: AttemptFailed[] = []
      for (const { seq, event } of events) {
        if (event.type === 'attempt-failed' && event.purpose !== 'summary')
          refused = event.remedy === 'next-target' ? [] : [...refused, event]
        if (event.type !== 'answer-received') continue
        const [provider = '', model = ''] = (first.settings.targets[event.target] ?? '').split('/')
        const kept = notesOf(provider, model, event.credentialId)
        // Partial text that becomes the answer proves no remedy.
        const proved = event.isRest && event.content.length === 0 ? [] : refused
        for (const { remedy, credentialId } of proved) {
          const kind = remedy === 'give-up' ? undefined : REMEMBERED[remedy]
          const isLearned = kind && (OF_ALL_CREDENTIALS.includes(kind) || credentialId === event.credentialId)
          if (isLearned && !kept.some((note) => note.kind === kind))
            faults.push(`I16 event ${seq}: ${remedy} led to an answer of ${provider}/${model} and is not remembered`)
        }
        refused = []
      }
      return faults
    },
  }
}

type AttemptFailed = Extract<TurnEvent, { type: 'attempt-failed' }>

const DAY_MS = 24 * 3_600_000

/** Half of the days begin with notes of earlier days: one ends during the day, one lasts longer than it. */
export function seedNotes(
  database: DatabaseSync,
  { setup, seed, epoch }: { setup: Setup; seed: number; epoch: number },
) {
  if (seed % 2 === 1) return
  const [provider = '', model = ''] = setup.chain[0]!.split('/')
  const insert = database.prepare(
    `insert into model_notes (organization_id, provider, model, credential_id, kind, value, noted_at, expires_at, run_id)
     values (?, ?, ?, '', ?, 'true', ?, ?, 'run-of-yesterday')`,
  )
  insert.run(DEFAULT_ORGANIZATION, provider, model, 'relaxSchemas', epoch - DAY_MS, epoch + 5_000)
  insert.run(DEFAULT_ORGANIZATION, provider, model, 'textOnlyResults', epoch - DAY_MS, epoch + 20 * DAY_MS)
}
