import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { realClock as clock } from '../../src/config/real-clock.ts'
import { openSqliteStore, shareSqliteStore } from '../../src/storage/sqlite.ts'
import type { OpenedStore } from '../../src/storage/store.ts'
import { testContract } from './contract.ts'

testContract('SQLite', async () => {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-storage-'))
  const opened: OpenedStore[] = []
  const openAs = async (role: 'owner' | 'guest') => {
    const store = await openSqliteStore({ home, clock, durability: 'relaxed', role })
    opened.push(store)
    return store
  }
  const fixture = { ...(await openAs('owner')), another: () => openAs('guest') }
  return {
    fixture,
    async close() {
      for (const { store, chunks } of opened.reverse()) {
        await chunks.close()
        await store.close()
      }
      rmSync(home, { recursive: true, force: true })
    },
  }
})

testContract('SQLite in memory, shared by several stores', async () => {
  const database = new DatabaseSync(':memory:')
  const opened: OpenedStore[] = []
  const share = async () => {
    const store = await shareSqliteStore({ database, clock, ownership: 'peer' })
    opened.push(store)
    return store
  }
  const fixture = { ...(await share()), another: share }
  return {
    fixture,
    async close() {
      for (const { store } of opened) await store.close()
      database.close()
    },
  }
})
