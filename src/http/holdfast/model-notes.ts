import { z } from 'zod'
import { forgetModelNotes, listModelNotes } from '../../service/providers/model-notes.ts'
import { operation } from '../operation.ts'
import { modelNoteSchema, wireModelNote } from './wire/model-note.ts'

const listNotes = operation({
  route: 'GET /v1/model-notes',
  scope: 'operator',
  summary: 'Lists what is remembered of models after failures, with its age and its end',
  answer: z.array(modelNoteSchema),
  handle: async (_, context) => (await listModelNotes(context)).map(wireModelNote),
})

const forgetNotes = operation({
  route: 'DELETE /v1/model-notes',
  scope: 'operator',
  summary: 'Forgets what is remembered of a model, so that the next request is sent without it',
  query: z.object({ model: z.string().describe('Model as provider/model.') }),
  answer: z.object({ forgotten: z.int().describe('Number of notes that the model had.') }),
  handle: ({ query: { model } }, context) => forgetModelNotes(model, context),
})

export const modelNoteOperations = [listNotes, forgetNotes]
