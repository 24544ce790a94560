import pg from 'pg'
import { realClock } from '../../../src/config/real-clock.ts'
import { openPostgresStore } from '../../../src/storage/postgres.ts'
import { startPostgres } from '../../harness/postgres.ts'
import type { FeedDatabase } from './feed-seed.ts'

const WRITERS = 3

/** A database for many seeds, each with an organization of its own; or the reason why there is none. */
export async function openFeedDatabase(): Promise<(FeedDatabase & { close(): Promise<void> }) | { skip: string }> {
  const server = await startPostgres()
  if ('skip' in server) return server
  const opened = await openPostgresStore({ url: server.url, clock: realClock, durability: 'relaxed' })
  const writers = Array.from({ length: WRITERS }, () => new pg.Client(server.url))
  await Promise.all(writers.map((writer) => writer.connect()))
  return {
    opened,
    writers,
    async close() {
      await Promise.all(writers.map((writer) => writer.end()))
      await opened.chunks.close()
      await opened.store.close()
      await server.stop()
    },
  }
}
