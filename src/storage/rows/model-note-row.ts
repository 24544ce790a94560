import type { ModelNote } from '../../core/model-note.ts'
import { type RowOf, rowMapper } from './row-mapping.ts'

const FIELDS = rowMapper<Omit<ModelNote, 'credentialId'>>()({
  provider: 'provider',
  model: 'model',
  kind: 'kind',
  value: { json: 'value' },
  notedAt: 'noted_at',
  expiresAt: 'expires_at',
  runId: 'run_id',
})

/** `credential_id` is part of the key, so it is empty for a note on every credential. */
export type ModelNoteRow = RowOf<typeof FIELDS> & { credential_id: string }

export const MODEL_NOTE_COLUMNS = [...FIELDS.columns, 'credential_id'] as const

export const modelNoteRowOf = (note: ModelNote): ModelNoteRow => ({
  ...FIELDS.rowOf(note),
  credential_id: note.credentialId ?? '',
})

export function modelNoteOf(row: ModelNoteRow): ModelNote {
  const note: ModelNote = FIELDS.objectOf(row)
  return row.credential_id === '' ? note : { ...note, credentialId: row.credential_id as `credential-${string}` }
}
