import type { Durability } from '../core/durability.ts'
import type { Clock } from '../ports/clock.ts'
import type { Role } from '../ports/role.ts'

type DatabaseSettings = { databaseUrl?: string; durability: Durability }

/** The configured database; the PostgreSQL driver is loaded only if it is used. */
export async function openDatabase(
  { databaseUrl, durability }: DatabaseSettings,
  { home, clock, role }: { home: string; clock: Clock; role: Role },
) {
  if (databaseUrl) {
    const { openPostgresStore } = await import('./postgres.ts')
    return openPostgresStore({ url: databaseUrl, clock, durability })
  }
  const { openSqliteStore } = await import('./sqlite.ts')
  return openSqliteStore({ home, clock, durability, role: role === 'guest' ? 'guest' : 'owner' })
}
