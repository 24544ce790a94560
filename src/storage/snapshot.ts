import { type SqlBool, sql } from 'kysely'
import type { Clock } from '../ports/clock.ts'
import type { SnapshotReader } from '../ports/snapshot.ts'
import { type ConversationRow, conversationOf } from './conversations.ts'
import type { Database } from './database.ts'
import { readEvents } from './events.ts'
import { MESSAGE_COLUMNS, messagesOf, ofRun } from './messages.ts'
import { RUN_COLUMNS, runOf } from './run-row.ts'
import { statement } from './statement.ts'
import { leaseNow } from './workers.ts'

/** Small enough that no page holds back the writer's checkpoint for long. */
const PAGE = 50

/** Each page is of one moment; the whole is not, or a long read would keep the log file from shrinking. */
export function snapshotReader({ readAtOnce }: Database, clock: Clock): SnapshotReader {
  return {
    runs: () =>
      inPages((after) =>
        readAtOnce(async (db) => {
          const rows = await db.all(runsAfter, { after, limit: PAGE })
          const items = []
          for (const row of rows) {
            const events = await readEvents(db, row.id, 0)
            const messages = messagesOf(await db.rows(ofRun, { run: row.id }))
            items.push({ run: runOf(row), events, messages })
          }
          return { items, last: rows.at(-1)?.number }
        }),
      ),

    conversations: () =>
      inPages((after) =>
        readAtOnce(async (db) => {
          const rows = await db.all(conversationsAfter, { after, limit: PAGE })
          const items = []
          for (const row of rows) {
            const messages = messagesOf(await db.rows(messagesOfConversation, { conversation: row.id }))
            items.push({ conversation: conversationOf(row as ConversationRow), messages })
          }
          return { items, last: rows.at(-1)?.number }
        }),
      ),

    liveWorkers: () =>
      readAtOnce(async (db) => new Set((await db.all(alive, { now: leaseNow(clock) })).map((row) => row.id))),
  }
}

async function* inPages<T>(read: (after: number) => Promise<{ items: T[]; last: number | undefined }>) {
  let after = 0
  for (;;) {
    const { items, last } = await read(after)
    yield* items
    if (last === undefined) return
    after = last
  }
}

const runsAfter = statement<{ after: number; limit: number }>()((db, p) =>
  db.selectFrom('runs').select(RUN_COLUMNS).where('number', '>', p('after')).orderBy('number').limit(p('limit')),
)

const conversationsAfter = statement<{ after: number; limit: number }>()((db, p) =>
  db.selectFrom('conversations').selectAll().where('number', '>', p('after')).orderBy('number').limit(p('limit')),
)

const messagesOfConversation = statement<{ conversation: string }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(MESSAGE_COLUMNS)
    .where('conversation_id', '=', p('conversation'))
    .orderBy('position'),
)

const alive = statement<{ now: number }>()((db, p, { leaseClock }) =>
  db
    .selectFrom('workers')
    .select('id')
    .where(sql<SqlBool>`expires_at > ${leaseClock(p('now'))}`),
)
