import { type SqlBool, sql } from 'kysely'
import type { ConversationId, MessageId, OrganizationId, RunId } from '../../core/id.ts'
import type { NewMessage } from '../../core/message.ts'
import type { MessageStore } from '../../ports/store.ts'
import type { Database } from '../database/database.ts'
import { isBlank } from '../database/list-page.ts'
import { insertInto, parametersOf } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import {
  MESSAGE_COLUMNS,
  messageRowOf,
  messagesOf,
  NEW_MESSAGE_COLUMNS,
  type NewMessageRow,
} from '../rows/message-row.ts'
import { type ChangedRun, numberOfRun } from '../rows/run-row.ts'

export function messageStore({ read }: Database): MessageStore {
  return {
    context: (conversationId) =>
      read(async (db) => messagesOf(await db.rows(inContext, { conversation: conversationId }))),

    list: (organizationId, conversationId, { limit, after, before, take, cleared }) =>
      read(async (db) => {
        const values = {
          organization: organizationId,
          conversation: conversationId,
          after: after ?? -1,
          before: before ?? LAST_POSITION,
          all: cleared === 'too' ? 1 : 0,
          limit,
        }
        if (take === 'oldest') return messagesOf(await db.pageRows(oldestFirst, values))
        return messagesOf((await db.pageRows(newestFirst, values)).reverse())
      }),

    ofRun: (runId) => read(async (db) => messagesOf(await db.rows(ofRun, { run: runId }))),

    get: (organizationId, id, conversationId) =>
      read(async (db) =>
        messagesOf(await db.rows(byId, { organization: organizationId, id, conversation: conversationId ?? '' })).at(0),
      ),
  }
}

/**
 * Reserves the positions of all messages of a commit in one statement, so that positions have no gaps or duplicates.
 */
export async function insertMessages(db: Executor, run: ChangedRun, messages: readonly NewMessage[]): Promise<void> {
  const at = messages.at(-1)!.createdAt
  const taken = await db.run(takePositions, { id: run.conversation_id, count: messages.length, at })
  if (taken !== 1) throw new Error(`conversation ${run.conversation_id} of run ${run.id} does not exist`)
  let before = messages.length
  for (const message of messages) await db.run(insertBefore, { ...messageRowOf(run, message), before: before-- })
}

/** Reserves positions at the end of a conversation and returns the first one. */
export async function takeFreePositions(
  db: Executor,
  { id, count, at }: { id: ConversationId; count: number; at: number },
): Promise<number> {
  const taken = await db.run(takePositions, { id, count, at })
  const row = taken === 1 ? await db.get(nextPosition, { id }) : undefined
  if (!row) throw new Error(`conversation ${id} does not exist`)
  return row.next_position - count
}

/** Inserts at a position that the caller knows to be free. */
export async function placeMessage(
  db: Executor,
  run: ChangedRun,
  { message, position }: { message: NewMessage; position: number },
): Promise<void> {
  await db.run(insertAt, { ...messageRowOf(run, message), position })
}

/** Largest 32-bit position. */
const LAST_POSITION = 2_147_483_647

const takePositions = statement<{ id: ConversationId; count: number; at: number }>()((db, p) =>
  db
    .updateTable('conversations')
    .set({ next_position: sql`next_position + ${p('count')}`, last_message_at: p('at') })
    .where('id', '=', p('id')),
)

const nextPosition = statement<{ id: ConversationId }>()((db, p) =>
  db.selectFrom('conversations').select('next_position').where('id', '=', p('id')),
)

const insertAt = insertInto('messages', [...NEW_MESSAGE_COLUMNS, 'position'])

/**
 * Inserts `before` positions below the next free one. On SQLite this subquery is cheaper than `returning` the number.
 */
const insertBefore = statement<NewMessageRow & { before: number }>()((db, p) =>
  db.insertInto('messages').values({
    ...parametersOf(p, NEW_MESSAGE_COLUMNS),
    position: sql`(select next_position - ${p('before')} from conversations where id = ${p('conversation_id')})`,
  }),
)

const inContext = statement<{ conversation: ConversationId }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(MESSAGE_COLUMNS)
    .where('conversation_id', '=', p('conversation'))
    .where('position', '>=', (where) =>
      where.selectFrom('conversations').select('context_start').where('conversations.id', '=', p('conversation')),
    )
    .orderBy('position'),
)

/** A reset clears the messages before it from lists and search. */
export const isNotCleared = (table: 'messages' | 'message_index') => sql<SqlBool>`${sql.table(table)}.position >=
  coalesce((select list_start from conversations where conversations.id = ${sql.table(table)}.conversation_id), 0)`

type Range = {
  organization: OrganizationId
  conversation: ConversationId
  after: number
  before: number
  all: number
  limit: number
}

const inRange = (order: 'asc' | 'desc') =>
  statement<Range>()((db, p) =>
    db
      .selectFrom('messages')
      .select(MESSAGE_COLUMNS)
      .where('conversation_id', '=', p('conversation'))
      .where('position', '>', p('after'))
      .where('position', '<', p('before'))
      .where(sql<SqlBool>`(cast(${p('all')} as integer) = 1 or ${isNotCleared('messages')})`)
      .where('organization_id', '=', p('organization'))
      .orderBy('position', order)
      .limit(p('limit')),
  )

const oldestFirst = inRange('asc')
const newestFirst = inRange('desc')

export const ofRun = statement<{ run: RunId }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(MESSAGE_COLUMNS)
    .where('run_number', '=', numberOfRun(p('run')))
    .orderBy('position'),
)

const byId = statement<{ organization: OrganizationId; id: MessageId; conversation: string }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(MESSAGE_COLUMNS)
    .where(sql<SqlBool>`(id = ${p('id')} or copy_of = ${p('id')})`)
    .where('organization_id', '=', p('organization'))
    .where(sql<SqlBool>`(${isBlank(p('conversation'))} or conversation_id = ${p('conversation')})`)
    .where(
      sql<SqlBool>`not exists (select 1 from conversations
        where conversations.id = messages.conversation_id and conversations.deleted_at is not null)`,
    )
    .orderBy(sql`case when copy_of is null then 0 else 1 end`)
    .limit(sql.lit(1)),
)

/** Copies belong to no run, so that listing a run returns the original only. */
const NO_RUN_NUMBER = 0

/** Copies messages below position `end`, under ids derived from their position. */
export async function copyMessages(
  db: Executor,
  { from, to, end }: { from: ConversationId; to: ConversationId; end: number },
): Promise<number> {
  return db.run(copy, { from, to, end })
}

const copy = statement<{ from: ConversationId; to: ConversationId; end: number }>()((db, p) =>
  db
    .insertInto('messages')
    .columns([...NEW_MESSAGE_COLUMNS, 'position', 'copy_of'])
    .expression((from) =>
      from
        .selectFrom('messages as original')
        .select([
          // In the column order above.
          sql<never>`cast(${p('to')} as text) || ' ' || original.position`.as('id'),
          'original.organization_id',
          'original.agent_id',
          sql<never>`cast(${p('to')} as text)`.as('conversation_id'),
          'original.run_id',
          sql<never>`${sql.lit(NO_RUN_NUMBER)}`.as('run_number'),
          'original.step_id',
          'original.role',
          'original.body',
          'original.created_at',
          'original.position',
          sql<never>`coalesce(original.copy_of, original.id)`.as('copy_of'),
        ])
        .where('original.conversation_id', '=', p('from'))
        .where('original.position', '<', p('end')),
    ),
)
