import { startPostgres } from '../harness/postgres.ts'
import { testLifecycle } from './lifecycle.ts'

testLifecycle('SQLite', ['TypeScript'])

const postgres = await startPostgres()
if (!('skip' in postgres)) testLifecycle('PostgreSQL', ['Python', 'TypeScript'], { DATABASE_URL: postgres.url })
