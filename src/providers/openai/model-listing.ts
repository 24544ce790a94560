import { entriesAt, type ModelListing, modelById } from '../wire/model-listing.ts'

/** The same beside both languages of OpenAI; some servers that copy it answer with a bare array. */
export const openaiModels: ModelListing = {
  path: () => '/models',
  auth: 'bearer',
  pageOf: (body) => (Array.isArray(body) ? { entries: body } : entriesAt(body, 'data')),
  modelOf: modelById,
}
