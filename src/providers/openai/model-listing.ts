import { entriesAt, type ModelListing, modelById } from '../wire/model-listing.ts'

/** Shared by both dialects of OpenAI; some compatible servers answer with a bare array. */
export const openaiModels: ModelListing = {
  path: () => '/models',
  auth: 'bearer',
  pageOf: (body) => (Array.isArray(body) ? { entries: body } : entriesAt(body, 'data')),
  modelOf: modelById,
}
