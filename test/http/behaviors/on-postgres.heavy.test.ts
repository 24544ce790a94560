import { after } from 'node:test'
import { startPostgres } from '../../harness/postgres.ts'
import { ALL } from './all.ts'
import { testOnServer } from './fixture-behaviors.ts'

const database = await startPostgres()
const name = 'a server on PostgreSQL'
if ('skip' in database) testOnServer({ name, skip: database.skip }, ALL)
else {
  testOnServer({ name, environment: { DATABASE_URL: database.url } }, ALL)
  after(() => database.stop())
}
