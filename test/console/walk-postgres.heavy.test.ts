import { startPostgres } from '../harness/postgres.ts'
import { missingProgram } from '../harness/programs.ts'
import { openConsoleOnPostgres } from './fixture-console.ts'
import { testWalks } from './walks.ts'

const server = await startPostgres()
const missing = 'skip' in server ? server.skip : missingProgram('chromium')
if (!('skip' in server)) await server.stop()

testWalks('PostgreSQL', { open: openConsoleOnPostgres, skip: missing })
