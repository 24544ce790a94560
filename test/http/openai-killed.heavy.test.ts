import { test } from 'node:test'
import { startPostgres } from '../harness/postgres.ts'
import { resumesAfterKill, retriesAreOneTurn } from './openai-killed.ts'

const PROMISES = {
  'a response in the background goes on after kill -9, and its stream from the last number the reader has':
    resumesAfterKill,
  'a request that kill -9 cut is retried by the client and runs one turn, in every kind of conversation':
    retriesAreOneTurn,
}

for (const [promise, keeps] of Object.entries(PROMISES)) {
  test(promise, (context) => keeps(context))

  test(`${promise}, on PostgreSQL`, async (context) => {
    const postgres = await startPostgres()
    if ('skip' in postgres) return context.skip(postgres.skip)
    context.after(() => postgres.stop())
    await keeps(context, { DATABASE_URL: postgres.url })
  })
}
