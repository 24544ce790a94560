import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { realClock as clock } from '../../src/config/real-clock.ts'
import { searchTerms } from '../../src/core/search-terms.ts'
import { rankMessages } from '../../src/storage/conversations/ranked-search.ts'
import { searchValuesOf } from '../../src/storage/conversations/search-filters.ts'
import { sqliteConnection } from '../../src/storage/database/sqlite-connection.ts'
import type { Executor } from '../../src/storage/database/statement.ts'
import { shareSqliteStore } from '../../src/storage/sqlite.ts'
import { AT, createAgent, ORGANIZATION } from './fixture-storage.ts'

const MESSAGES = 20_000

test('a search for a word in 20,000 messages reads a bounded number of rows, a few hundred at a time, and pauses in between', async (context) => {
  const file = new DatabaseSync(':memory:')
  const { store } = await shareSqliteStore({ database: file, clock, ownership: 'sole' })
  context.after(async () => {
    await store.close()
    file.close()
  })
  const { agentId, conversationId } = await createAgent(store)
  const scope = [ORGANIZATION, agentId, conversationId].map((id) => id.replaceAll('-', '')).join(' ')
  file.exec(`
    with recursive all_numbers(n) as (select 1 union all select n + 1 from all_numbers where n < ${MESSAGES})
    insert into message_index (number, organization_id, agent_id, conversation_id, position, role, created_at)
      select n, '${ORGANIZATION}', '${agentId}', '${conversationId}', n, 'user', ${AT} + n from all_numbers;
    insert into message_words (rowid, scope, content)
      select number, '${scope}', case when number = 5 then 'the whale' when number % 2 = 0 then 'the sea' else 'the land' end
      from message_index`)
  const { executor } = sqliteConnection(file, 'memory')
  let pauses = 0
  let most = 0
  let read = 0
  const counted: Executor = {
    ...executor,
    async rows(query, values) {
      const rows = await executor.rows(query, values)
      most = Math.max(most, rows.length)
      read += rows.length
      return rows
    },
  }
  const pause = async () => void pauses++
  const find = (text: string, more: { to?: number } = {}) => {
    const values = searchValuesOf({ organizationId: ORGANIZATION, limit: 10, ...more })
    pauses = 0
    read = 0
    return rankMessages(
      counted,
      { values, scope: 'all', terms: searchTerms(text), as: 'whole' },
      { name: 'sqlite', pause },
    )
  }
  assert.deepEqual((await find('the')).slice(0, 2), [MESSAGES, MESSAGES - 1])
  assert.deepEqual([read, pauses], [1_000, 4])
  assert.deepEqual((await find('the whale')).slice(0, 2), [5, MESSAGES])
  assert.ok(read < 2_100, `${read} rows`)
  // Words that are never together are ranked by themselves.
  assert.deepEqual((await find('sea land')).slice(0, 2), [MESSAGES, MESSAGES - 1])
  assert.deepEqual([read, pauses], [2_000, 8])
  // A filter that few messages fit is not answered with nothing: the search goes on to the last of them.
  assert.deepEqual(await find('the', { to: AT + 3 }), [3, 2, 1])
  assert.equal(most, 250)
  assert.ok(pauses > MESSAGES / 250 - 2)

  // The same through the store: immediates of others run while it searches.
  let ticks = 0
  let isOver = false
  const tick = () => {
    ticks++
    if (!isOver) setImmediate(tick)
  }
  setImmediate(tick)
  await store.messageSearch.search(ORGANIZATION, undefined, { text: 'the', limit: 10 })
  isOver = true
  assert.ok(ticks >= 4, `${ticks} times`)
})
