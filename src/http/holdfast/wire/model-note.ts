import { z } from 'zod'
import { type ModelNote, NOTE_KINDS } from '../../../core/model-note.ts'
import { handleOf } from '../../../core/target.ts'

const time = (what: string) => z.iso.datetime().describe(what)

export const modelNoteSchema = z.lazy(() =>
  z
    .object({
      model: z.string().describe('Model as provider/model.'),
      kind: z.enum(NOTE_KINDS).describe('What is done for each request to the model.'),
      window: z.int().nullable().describe('Context window in tokens that the provider stated; null for other kinds.'),
      credential_id: z.string().nullable().describe('The credential it is about; null for all credentials.'),
      noted_at: time('When an answer proved it right.'),
      expires_at: time('From then on requests are sent without it again.'),
      run_id: z.string().describe('The run whose failure revealed it.'),
    })
    .meta({ id: 'ModelNote', description: 'What is remembered of a model after a failure, so that it fails once.' }),
)

export const wireModelNote = (note: ModelNote): z.output<typeof modelNoteSchema> => ({
  model: handleOf(note),
  kind: note.kind,
  window: note.value === true ? null : note.value,
  credential_id: note.credentialId ?? null,
  noted_at: new Date(note.notedAt).toISOString(),
  expires_at: new Date(note.expiresAt).toISOString(),
  run_id: note.runId,
})
