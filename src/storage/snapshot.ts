import { type SqlBool, sql } from 'kysely'
import { EMPTY_CHAIN } from '../core/audit.ts'
import { defined } from '../core/defined.ts'
import { closedLength } from '../core/history.ts'
import type { ConversationId, OrganizationId } from '../core/id.ts'
import type { AuditRecord } from '../core/invariants/audit-chain.ts'
import type { ConversationRecord, RunRecord } from '../core/invariants/record.ts'
import type { ScheduleRecord } from '../core/invariants/schedules.ts'
import type { SettledInstant } from '../core/schedule.ts'
import type { Clock } from '../ports/clock.ts'
import type { SnapshotReader } from '../ports/snapshot.ts'
import { ofRun } from './conversations/messages.ts'
import type { Database } from './database/database.ts'
import { type Executor, statement } from './database/statement.ts'
import { hookRecords } from './hooks/hooks.ts'
import { importObjectRecords } from './imports/object-records.ts'
import { blockHistories } from './memory/block-versions.ts'
import { auditDigest, chainPage, chainsIn } from './people/audit.ts'
import { conversationOf } from './rows/conversation-row.ts'
import { MESSAGE_COLUMNS, messagesOf } from './rows/message-row.ts'
import { RUN_COLUMNS, type RunRow, runOf } from './rows/run-row.ts'
import { scheduleOf } from './rows/schedule-row.ts'
import { readEvents } from './runs/events.ts'
import { storedBytesRecords } from './runs/stored-bytes.ts'
import { leaseNow } from './runs/workers.ts'
import { historyPage } from './schedules/settle.ts'
import { callbackRecords, deliveryRecords } from './webhooks/check-records.ts'

/** Small enough that no page delays the writer's checkpoint for long. */
const PAGE = 50
const MESSAGE_PAGE = 1_000

/** Each page is one snapshot. The whole is not, because a long read would keep the WAL file from shrinking. */
export function snapshotReader(database: Database, clock: Clock): SnapshotReader {
  const { readSnapshot } = database
  return {
    runs: () =>
      inPages((after) =>
        readSnapshot(async (db) => {
          const rows = await db.all(runsAfter, { after, limit: PAGE })
          const items = []
          for (const row of rows) items.push(await runRecord(db, row))
          return { items, last: rows.at(-1)?.number }
        }),
      ),

    async *conversations() {
      const numbers = inPages((after) =>
        readSnapshot(async (db) => {
          const items = (await db.all(conversationsAfter, { after, limit: PAGE })).map((row) => row.number)
          return { items, last: items.at(-1) }
        }),
      )
      for await (const number of numbers) yield* piecesOf(number)
    },

    async *auditChains() {
      for (const organization of await readSnapshot(chainsIn)) yield* chainOf(organization)
    },

    storedBytes: () => readSnapshot(storedBytesRecords),

    blockHistories: () => inPages((after) => readSnapshot((db) => blockHistories(db, { after, limit: PAGE }))),

    importObjects: () => importObjectRecords(database),

    async *schedules() {
      const numbers = inPages((after) =>
        readSnapshot(async (db) => {
          const items = (await db.all(schedulesAfter, { after, limit: PAGE })).map((row) => row.number)
          return { items, last: items.at(-1) }
        }),
      )
      for await (const number of numbers) yield* historyOf(number)
    },

    callbacks: () => inPages((after) => readSnapshot((db) => callbackRecords(db, { after, limit: MESSAGE_PAGE }))),

    webhookDeliveries: () =>
      inPages((after) => readSnapshot((db) => deliveryRecords(db, { after, limit: MESSAGE_PAGE }))),

    hookDeliveries: () => inPages((after) => readSnapshot((db) => hookRecords(db, { after, limit: MESSAGE_PAGE }))),

    liveWorkers: () =>
      readSnapshot(async (db) => new Set((await db.all(alive, { now: leaseNow(clock) })).map((row) => row.id))),
  }

  /** An append-only history. The schedule is read with each page, so that its next instant belongs to the last one. */
  async function* historyOf(number: number): AsyncGenerator<ScheduleRecord> {
    for (let before: SettledInstant | undefined; ; ) {
      const after = before?.instant ?? -1
      const page = await readSnapshot(async (db) => {
        const row = await db.get(scheduleAt, { number })
        const schedule = row && scheduleOf(row)
        return schedule && { schedule, ...(await historyPage(db, { schedule, after, limit: MESSAGE_PAGE })) }
      })
      if (!page) return
      const { instants } = page
      yield { ...page, ...defined({ before }) }
      if (instants.length < MESSAGE_PAGE) return
      before = instants.at(-1)
    }
  }

  /** An append-only log: each page may be a separate snapshot, and the last one has the head of the same moment. */
  async function* chainOf(organizationId: OrganizationId): AsyncGenerator<AuditRecord> {
    for (let before = EMPTY_CHAIN; ; ) {
      const page = { organization: organizationId, after: before.sequence, limit: MESSAGE_PAGE }
      const { entries, head = 'missing' as const } = await readSnapshot((db) => chainPage(db, page))
      const isEnd = entries.length < MESSAGE_PAGE
      yield { organizationId, entries, before, digest: auditDigest, ...defined({ head: isEnd ? head : undefined }) }
      if (isEnd) return
      const last = entries.at(-1)!
      before = { sequence: last.sequence ?? 0, hash: last.hash ?? '' }
    }
  }

  /** Committed messages never move, so each piece may be a separate snapshot. */
  async function* piecesOf(number: number): AsyncGenerator<ConversationRecord> {
    for (let from = 0; ; ) {
      const piece = await readSnapshot((db) => conversationPiece(db, number, from))
      if (!piece) return
      yield piece
      if (piece.isEnd) return
      from = piece.next
    }
  }
}

async function runRecord(db: Executor, row: RunRow): Promise<RunRecord> {
  try {
    const events = await readEvents(db, row.id, 0)
    return { run: runOf(row), events, messages: messagesOf(await db.rows(ofRun, { run: row.id })) }
  } catch (fault) {
    // Invalid JSON in a row is a finding; a database that cannot be read ends the check.
    if (!(fault instanceof SyntaxError)) throw fault
    const run = runOf({ ...row, error: null, metadata: '{}' })
    return { run, events: [], messages: [], unreadable: fault.message }
  }
}

type ConversationPiece = ConversationRecord & { isEnd: boolean; next: number }

async function conversationPiece(db: Executor, number: number, from: number): Promise<ConversationPiece | undefined> {
  const row = await db.get(conversationAt, { number })
  if (!row) return undefined
  const conversation = conversationOf(row)
  const rows = await db.rows(messagesFrom, { conversation: row.id, from, limit: MESSAGE_PAGE })
  const isEnd = rows.length < MESSAGE_PAGE
  const after = rows.length > 0 ? (rows.at(-1)![POSITION] as number) + 1 : from
  try {
    const messages = messagesOf(rows)
    if (isEnd) return { conversation, messages, from, isEnd, next: after }
    const closed = messages.slice(0, closedLength(messages.map((message) => message.body)) || messages.length)
    return { conversation, messages: closed, from, isEnd, next: closed.at(-1)!.position + 1 }
  } catch (fault) {
    if (!(fault instanceof SyntaxError)) throw fault
    return { conversation, messages: [], from, isEnd, next: after, unreadable: fault.message }
  }
}

const POSITION = MESSAGE_COLUMNS.indexOf('position')

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
  db.selectFrom('conversations').select('number').where('number', '>', p('after')).orderBy('number').limit(p('limit')),
)

const schedulesAfter = statement<{ after: number; limit: number }>()((db, p) =>
  db.selectFrom('schedules').select('number').where('number', '>', p('after')).orderBy('number').limit(p('limit')),
)

const scheduleAt = statement<{ number: number }>()((db, p) =>
  db.selectFrom('schedules').selectAll().where('number', '=', p('number')),
)

const conversationAt = statement<{ number: number }>()((db, p) =>
  db.selectFrom('conversations').selectAll().where('number', '=', p('number')),
)

const messagesFrom = statement<{ conversation: ConversationId; from: number; limit: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(MESSAGE_COLUMNS)
    .where('conversation_id', '=', p('conversation'))
    .where('position', '>=', p('from'))
    .orderBy('position')
    .limit(p('limit')),
)

const alive = statement<{ now: number }>()((db, p, { leaseClock }) =>
  db
    .selectFrom('workers')
    .select('id')
    .where(sql<SqlBool>`expires_at > ${leaseClock(p('now'))}`),
)
