import type { CredentialId } from './credential.ts'
import type { RunId } from './id.ts'
import type { RequestAdjustments } from './request-adjustments.ts'
import type { ModelNotes, NoteKind, Target } from './target.ts'

type NoteRule = {
  /** `credential`: another account may get another answer from the same model. */
  about: 'model' | 'credential'
  /** After this time the request is sent without the note again, which costs one refused request at most. */
  lifetimeMs: number
}

const DAY_MS = 24 * 3_600_000

export const NOTE_RULES: Record<NoteKind, NoteRule> = {
  // Operators restart servers with another window, and vendors raise windows behind the same name.
  window: { about: 'model', lifetimeMs: 7 * DAY_MS },
  // A property of the vendor's API, which changes with its releases.
  textOnlyResults: { about: 'model', lifetimeMs: 30 * DAY_MS },
  // A property of the server's grammar compiler, which an update of the server may change.
  relaxSchemas: { about: 'model', lifetimeMs: 7 * DAY_MS },
  // Access comes with the plan of the account: who pays for it today expects it tomorrow.
  dropLongContextBeta: { about: 'credential', lifetimeMs: DAY_MS },
  // The refused items belong to another account; a compaction removes them from the context.
  dropEncryptedReasoning: { about: 'credential', lifetimeMs: DAY_MS },
}

export const NOTE_KINDS = Object.keys(NOTE_RULES) as NoteKind[]

/** What an earlier failure revealed about a model, or about one credential at it. It ends by itself. */
export type ModelNote = Target & {
  kind: NoteKind
  value: number | true
  /** Absent: it holds for every credential. */
  credentialId?: CredentialId
  notedAt: number
  expiresAt: number
  /** The run whose failure revealed it. */
  runId: RunId
}

type LearnedNotes = Target & { notes: ModelNotes; credentialId?: CredentialId; at: number; runId: RunId }

/** One note for each thing learned. */
export function modelNotes({ provider, model, notes, credentialId, at, runId }: LearnedNotes): ModelNote[] {
  return NOTE_KINDS.flatMap((kind): ModelNote[] => {
    const value = notes[kind]
    if (value === undefined) return []
    const { about, lifetimeMs } = NOTE_RULES[kind]
    const note = { provider, model, kind, value, notedAt: at, expiresAt: at + lifetimeMs, runId }
    return [about === 'credential' && credentialId ? { ...note, credentialId } : note]
  })
}

/** The notes that a request with this credential obeys now. */
export function notesInForce(
  notes: readonly ModelNote[],
  { credentialId, at }: { credentialId?: CredentialId; at: number },
): ModelNotes {
  const held = notes.filter(
    (note) => note.expiresAt > at && (note.credentialId === undefined || note.credentialId === credentialId),
  )
  return Object.fromEntries(held.map(({ kind, value }) => [kind, value]))
}

/** The notes that change the copy of a request. */
export function adjustmentsOf({ window: _, ...adjustments }: ModelNotes): RequestAdjustments {
  return adjustments
}

/** What the adjustments of an answered request reveal; those of a credential only if it was refused itself. */
export function notesFrom(
  adjustments: RequestAdjustments,
  { window, isOwnRefusal }: { window?: number; isOwnRefusal: boolean },
): ModelNotes | undefined {
  const learned = NOTE_KINDS.flatMap((kind): [NoteKind, number | true][] => {
    if (kind === 'window') return window === undefined ? [] : [[kind, window]]
    const counts = NOTE_RULES[kind].about === 'model' || isOwnRefusal
    return adjustments[kind] && counts ? [[kind, true]] : []
  })
  return learned.length > 0 ? Object.fromEntries(learned) : undefined
}
