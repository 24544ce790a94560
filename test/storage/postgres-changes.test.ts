import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { realClock as clock } from '../../src/config/real-clock.ts'
import { newChangeFeed } from '../../src/live/change-feed.ts'
import type { FeedItem } from '../../src/ports/change-feed.ts'
import { openPostgresStore } from '../../src/storage/postgres.ts'
import { startPostgres } from '../harness/postgres.ts'
import { ORGANIZATION } from './fixture-storage.ts'

const server = await startPostgres()

test('a change with a lower number that commits after a higher one is not missed', {
  skip: 'skip' in server ? server.skip : false,
}, async (context) => {
  assert.ok(!('skip' in server))
  const { store, chunks } = await openPostgresStore({ url: server.url, clock, durability: 'strict' })
  const [slow, fast] = [new pg.Client(server.url), new pg.Client(server.url)]
  const stop = new AbortController()
  context.after(async () => {
    stop.abort()
    await Promise.all([watching, slow.end(), fast.end()])
    await chunks.close()
    await store.close()
    await server.stop()
  })
  await Promise.all([slow.connect(), fast.connect()])
  const feed = newChangeFeed({ changes: store.changes, clock, report: (fault) => assert.fail(String(fault)) })
  let watching: Promise<void> | undefined
  const seen: string[] = []
  const watch = async (items: AsyncGenerator<FeedItem>) => {
    for await (const item of items) if (item.type === 'changes') for (const { id } of item.changes) seen.push(id)
  }
  const after = await store.changes.newest()
  watching = watch(feed.watch({ organizationId: ORGANIZATION, after, signal: stop.signal }))

  const insert = `insert into users (id, organization_id, name, created_at) values ($1, '${ORGANIZATION}', $1, 0)`
  await slow.query('begin')
  await slow.query(insert, ['user-slow'])
  await fast.query(insert, ['user-fast'])
  // Longer than several reads of the feed: what is committed is not delivered while an older transaction is open.
  await sleep(400)
  assert.deepEqual(seen, [])
  await slow.query('commit')
  while (seen.length < 2) await sleep(5)
  assert.deepEqual(seen, ['user-slow', 'user-fast'])
})
