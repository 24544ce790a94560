import type { Routes } from '../routes.ts'

/** What this process keeps warm between turns. For operators. */
export function registerCacheRoutes(routes: Routes): void {
  routes.get(
    '/v1/cache',
    async (_, { world }) => {
      const { entries, bytes, active, limits, hits, misses, evictions } = world.warm.state()
      return {
        conversations: entries,
        bytes,
        in_a_turn: active,
        hits,
        misses,
        evictions,
        limits: { conversations: limits.entries, bytes: limits.bytes, idle_seconds: limits.idleMs / 1_000 },
      }
    },
    { summary: 'Conversations this process keeps warm, and how often that was of use' },
  )
}
