import { operation } from '../operation.ts'
import { cacheSchema, wireCache } from './wire/cache.ts'

const showCache = operation({
  route: 'GET /v1/cache',
  scope: 'operator',
  summary: 'Shows how many conversations this process keeps warm, with hits and misses',
  answer: cacheSchema,
  handle: (_, { deps }) => wireCache(deps.historyCache.state()),
})

export const cacheOperations = [showCache]
