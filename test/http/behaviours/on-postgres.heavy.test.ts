import { after } from 'node:test'
import { startPostgres } from '../../harness/postgres.ts'
import { ALL } from './all.ts'
import { serveAt } from './house.ts'

const database = await startPostgres()
const name = 'a server on PostgreSQL'
if ('skip' in database) serveAt({ name, skip: database.skip }, ALL)
else {
  serveAt({ name, environment: { DATABASE_URL: database.url } }, ALL)
  after(() => database.stop())
}
