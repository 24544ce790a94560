import { operation } from '../operation.ts'
import { cacheSchema, wireCache } from './wire/cache.ts'

const showCache = operation({
  route: 'GET /v1/cache',
  scope: 'operator',
  summary: 'Shows the conversation cache of this process: size, hits, misses and evictions',
  answer: cacheSchema,
  handle: (_, { deps }) => wireCache(deps.historyCache.state()),
})

export const cacheOperations = [showCache]
