import { test } from 'node:test'
import { ADMISSION_POLICIES } from '../../src/core/admission.ts'
import { startPostgres } from '../harness/postgres.ts'
import { survivesKill } from './when-busy-killed.ts'

for (const mode of ADMISSION_POLICIES) {
  test(`${mode}: kill -9 after a message was accepted during a turn loses nothing and does nothing twice`, (context) =>
    survivesKill(context, mode))

  test(`${mode}: the same on PostgreSQL`, async (context) => {
    const postgres = await startPostgres()
    if ('skip' in postgres) return context.skip(postgres.skip)
    context.after(() => postgres.stop())
    await survivesKill(context, mode, { DATABASE_URL: postgres.url })
  })
}
