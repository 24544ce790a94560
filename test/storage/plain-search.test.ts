import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import pg from 'pg'
import { realClock as clock } from '../../src/config/real-clock.ts'
import type { Store } from '../../src/ports/store.ts'
import { catchUpIndex, sweepIndex } from '../../src/storage/conversations/indexed-messages.ts'
import { messageSearchStore } from '../../src/storage/conversations/message-search-store.ts'
import type { Database } from '../../src/storage/database/database.ts'
import { POSTGRES, SQLITE } from '../../src/storage/database/dialect.ts'
import { postgresExecutor } from '../../src/storage/database/postgres-connection.ts'
import { sqliteConnection } from '../../src/storage/database/sqlite-connection.ts'
import { openPostgresStore } from '../../src/storage/postgres.ts'
import { shareSqliteStore } from '../../src/storage/sqlite.ts'
import { startPostgres } from '../harness/postgres.ts'
import {
  type AgentConversation,
  AT,
  asHolder,
  createAgent,
  createRunningRun,
  entry,
  fault,
  finish,
  ORGANIZATION,
  says,
} from './fixture-storage.ts'

/** SQLite stores the words in a separate table. */
const TABLES = {
  sqlite: ['message_index', 'message_index_heads', 'message_words_docsize'],
  postgres: ['message_index', 'message_index_heads'],
}

const refuses: Database['write'] = () => Promise.reject(new Error('the disk is full'))

test('SQLite: messages that could not be indexed are found, together with indexed ones', async (context) => {
  const file = new DatabaseSync(':memory:')
  const { store } = await shareSqliteStore({ database: file, clock, ownership: 'sole' })
  context.after(async () => {
    await store.close()
    file.close()
  })
  const connection = sqliteConnection(file, 'memory')
  const { exclusively: read } = connection
  await findsWithoutIndexing({
    store,
    unwritable: { dialect: SQLITE, write: refuses, read, readSnapshot: read },
    write: ({ work }) => connection.transact(work),
    count: async (table) => Number(file.prepare(`select count(*) as rows from ${table}`).get()?.rows),
  })
})

const server = await startPostgres()
const skip = 'skip' in server ? server.skip : false
test('PostgreSQL: messages that could not be indexed are found, together with indexed ones', {
  skip,
}, async (context) => {
  if ('skip' in server) return
  const { store, chunks } = await openPostgresStore({ url: server.url, clock, durability: 'relaxed' })
  const pool = new pg.Pool({ connectionString: server.url, max: 1 })
  context.after(async () => {
    await pool.end()
    await chunks.close()
    await store.close()
    await server.stop()
  })
  const read: Database['read'] = async (work) => work(postgresExecutor(pool))
  await findsWithoutIndexing({
    store,
    unwritable: { dialect: POSTGRES, write: refuses, read, readSnapshot: read },
    write: ({ work }) => read(work),
    count: async (table) => Number((await pool.query(`select count(*) as rows from ${table}`)).rows[0].rows),
  })
})

type SearchFixture = {
  store: Store
  unwritable: Database
  write: Database['write']
  count(table: string): Promise<number>
}

async function findsWithoutIndexing({ store, unwritable, write, count }: SearchFixture): Promise<void> {
  const agent = await createAgent(store)
  const say = async (speaker: AgentConversation, ...texts: string[]) => {
    const run = await createRunningRun(store, speaker)
    await store.events.append(asHolder(run, { facts: texts.map((text) => entry(fault('x'), says(run.id, text))) }))
    await finish(store, run)
  }
  const recall = messageSearchStore(unwritable, clock)
  const find = async (text: string, agentId: typeof agent.agentId | undefined = agent.agentId) =>
    (await recall.search(ORGANIZATION, agentId, { text, limit: 10 })).map(({ position }) => position)

  await say(agent, 'an old kettle', 'the sea')
  assert.deepEqual(await find('kettle'), [0], 'nothing is indexed yet')
  await store.messageSearch.catchUp(1_000)
  await say(agent, 'a new kettle', 'Привет, МИР', '我们去北京', 'done 🎉', 'a new sea 100%')
  assert.deepEqual((await find('kettle')).sort(), [0, 2])
  assert.deepEqual((await find('kettle', undefined)).sort(), [0, 2])
  assert.deepEqual(await find('привет'), [3])
  assert.deepEqual(await find('мир'), [3])
  assert.deepEqual(await find('北京'), [4])
  assert.deepEqual(await find('🎉'), [5])
  assert.deepEqual((await find('new kettle'))[0], 2)
  assert.deepEqual(await find('user'), [], 'a word that only the row has')
  await store.messageSearch.catchUp(1_000)
  assert.deepEqual((await find('kettle')).sort(), [0, 2], 'nothing is found twice')
  assert.deepEqual(await find('北京'), [4])

  // Deleting leaves no rows, whichever way it is done.
  const neighbor = await createAgent(store)
  await say(neighbor, 'their kettle')
  await store.messageSearch.catchUp(1_000)
  assert.deepEqual(await count('message_index'), 8)
  await store.conversations.delete(ORGANIZATION, neighbor.conversationId, AT)
  await store.agents.delete(ORGANIZATION, agent.agentId)
  assert.equal(await count('message_index'), 1)
  for (let sweeps = 0; sweeps < 3; sweeps++) await sweepIndex({ ...unwritable, write })
  for (const table of TABLES[unwritable.dialect.name]) assert.equal(await count(table), 0, table)

  // An agent deleted between reading and writing a batch leaves no rows.
  const shortLived = await createAgent(store)
  await say(shortLived, 'a kettle for a moment')
  const late: Database['write'] = async (job) => {
    await store.agents.delete(ORGANIZATION, shortLived.agentId)
    return write(job)
  }
  await catchUpIndex({ ...unwritable, write: late }, { scope: {}, forMs: 1_000 }, clock)
  for (const table of TABLES[unwritable.dialect.name]) assert.equal(await count(table), 0, table)
}
