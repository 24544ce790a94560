import { after, suite, test } from 'node:test'
import { startPostgres } from '../harness/postgres.ts'
import { survivesKills } from './schedules-killed.ts'

const TITLE = 'kill -9 while many schedules fire leaves every instant with one run, or the reason why not'

const postgres = await startPostgres()
const skip = 'skip' in postgres ? postgres.skip : false

test(`one server on SQLite: ${TITLE}`, { timeout: 1_200_000 }, (context) =>
  survivesKills(context, { servers: 1, schedules: 120, kills: 8 }),
)

suite('on PostgreSQL', { skip }, () => {
  after(() => ('stop' in postgres ? postgres.stop() : undefined))

  test(`two servers on one PostgreSQL: ${TITLE}`, { timeout: 1_200_000 }, (context) =>
    survivesKills(context, {
      servers: 2,
      schedules: 160,
      kills: 12,
      environment: { DATABASE_URL: 'url' in postgres ? postgres.url : '' },
    }),
  )
})
