import { entriesAt, limitsIn, type ModelListing, recordOf, textAt } from '../wire/model-listing.ts'

export const geminiModels: ModelListing = {
  path: (after) =>
    `/v1beta/models?pageSize=1000${after === undefined ? '' : `&pageToken=${encodeURIComponent(after)}`}`,
  auth: 'x-goog-api-key',
  pageOf(body) {
    const page = entriesAt(body, 'models')
    const next = page && textAt(recordOf(body)!, 'nextPageToken')
    return page && (next === undefined ? page : { ...page, next })
  },
  modelOf(entry) {
    const methods = entry.supportedGenerationMethods
    const name = textAt(entry, 'name')?.replace(/^models\//, '')
    // The list includes embedding models.
    if (name === undefined || (Array.isArray(methods) && !methods.includes('generateContent'))) return undefined
    return { model: name, ...limitsIn(entry) }
  },
}
