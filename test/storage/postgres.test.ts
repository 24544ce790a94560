import { after, test } from 'node:test'
import { realClock as clock } from '../../src/config/real-clock.ts'
import { openPostgresStore } from '../../src/storage/postgres.ts'
import type { OpenedStore } from '../../src/storage/store.ts'
import { startPostgres } from '../harness/postgres.ts'
import { contractTitles, testContract } from './contract.ts'
import { newDatabasePool } from './postgres-pool.ts'

/** Migrated once; each test uses a copy of it. */
const first = await startPostgres()
if ('skip' in first) for (const title of contractTitles) test(`PostgreSQL: ${title}`, { skip: first.skip }, () => {})
else {
  await close(await openPostgresStore({ url: first.url, clock, durability: 'strict' }))
  const databases = await newDatabasePool(first)
  after(async () => {
    await databases.stop()
    await first.stop()
  })
  testContract(
    'PostgreSQL',
    async () => {
      const database = await databases.take()
      const opened: OpenedStore[] = []
      const open = async () => {
        const store = await openPostgresStore({ url: database.url, clock, durability: 'strict' })
        opened.push(store)
        return store
      }
      const fixture = { ...(await open()), another: open }
      return {
        fixture,
        async close() {
          for (const one of opened) await close(one)
          await databases.giveBack(database)
        },
      }
    },
    3,
  )
}

async function close({ store, chunks }: OpenedStore): Promise<void> {
  await chunks.close()
  await store.close()
}
