import { after, suite, test } from 'node:test'
import { startPostgres } from '../harness/postgres.ts'
import { survivesKills } from './hook-to-webhook.ts'

const TITLE = 'a webhook in, the turn it makes and the webhook out it causes survive kill -9 at every point, once'

const postgres = await startPostgres()
const skip = 'skip' in postgres ? postgres.skip : false

test(`SQLite: ${TITLE}`, { timeout: 600_000 }, (context) => survivesKills(context))

suite('on PostgreSQL', { skip }, () => {
  after(() => ('stop' in postgres ? postgres.stop() : undefined))

  test(`PostgreSQL: ${TITLE}`, { timeout: 600_000 }, (context) =>
    survivesKills(context, { DATABASE_URL: 'url' in postgres ? postgres.url : '' }),
  )
})
