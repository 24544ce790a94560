import { z } from 'zod'
import type { ServiceContext } from '../../../service/service-context.ts'

const count = z.int()

export const cacheSchema = z.lazy(() =>
  z
    .object({
      conversations: count.describe('Conversations in the cache.'),
      bytes: count.describe('Estimated memory of the cache.'),
      in_a_turn: z.array(z.string()).describe('Conversations that run now and cannot be evicted.'),
      hits: count.describe('Turns that began with a cached conversation, since the process started.'),
      misses: z
        .object({
          absent: count.describe('The conversation was not in the cache.'),
          stale: count.describe('The conversation had changed since it was cached.'),
        })

        .describe('Turns that had to read their conversation, since the process started.'),
      evictions: z
        .object({
          entries: count.describe('The cache had too many conversations.'),
          bytes: count.describe('The cache was too large.'),
          idle: count.describe('The conversation was not used for long.'),
          stale: count.describe('The conversation had changed since it was cached.'),
          'conversation-over': count.describe('The conversation was deleted or reset.'),
        })

        .describe('Conversations that left the cache, by reason, since the process started.'),
      limits: z
        .object({ conversations: count, bytes: count, idle_seconds: z.number() })

        .describe('Limits of the cache, as configured.'),
    })
    .meta({ id: 'Cache', description: 'The conversations that a process keeps in memory between turns.' }),
)

type WireCache = z.output<typeof cacheSchema>

type CacheState = ReturnType<ServiceContext['deps']['historyCache']['state']>

export function wireCache(state: CacheState): WireCache {
  const { entries, bytes, active, limits, hits, misses, evictions } = state
  return {
    conversations: entries,
    bytes,
    in_a_turn: active,
    hits,
    misses,
    evictions,
    limits: { conversations: limits.entries, bytes: limits.bytes, idle_seconds: limits.idleMs / 1_000 },
  }
}
