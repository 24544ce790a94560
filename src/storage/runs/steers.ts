import { sql } from 'kysely'
import type { TurnEvent } from '../../core/event.ts'
import type { ConversationId, RunId } from '../../core/id.ts'
import type { NewRun } from '../../ports/store.ts'
import { insertInto } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { numberOfRun } from '../rows/run-row.ts'

/** A request that joined a running run. Its id is reserved: it becomes a run if that one does not read its message. */
export async function saveSteer(db: Executor, run: NewRun, steered: RunId): Promise<void> {
  const { id, organizationId: organization_id, conversationId: conversation_id, idempotency } = run
  await db.run(insert, { id, organization_id, conversation_id, run_id: steered })
  if (!idempotency) return
  const { key: idempotency_key, digest: request_digest } = idempotency
  await db.run(insertKey, { organization_id, conversation_id, idempotency_key, request_digest, run_id: id })
}

/** The run that carries the message of a request: the one it opened, or the one it joined. */
export const carrierOf = async (db: Executor, id: RunId): Promise<RunId> =>
  (await db.get(byRequest, { id }))?.run_id ?? id

export const findSteer = (db: Executor, id: RunId) => db.get(byRequest, { id })

export const forgetSteer = (db: Executor, id: RunId) => db.run(remove, { id })

/** The request that was steered with this idempotency key. */
export const findSteerByKey = (db: Executor, values: { conversation: ConversationId; key: string }) =>
  db.get(byKey, values)

/** Inputs that joined the run since its last answer; undefined for a run that only does a task. */
export async function countSteers(db: Executor, run: RunId): Promise<number | undefined> {
  const accepted = await db.get(firstEvent, { run })
  const event = accepted && (JSON.parse(accepted.body) as TurnEvent)
  if (event?.type === 'input-accepted' && event.settings.task) return undefined
  return Number((await db.get(sinceAnswer, { run }))?.count ?? 0)
}

const firstEvent = statement<{ run: RunId }>()((db, p) =>
  db
    .selectFrom('events')
    .select('body')
    .where('run_number', '=', numberOfRun(p('run')))
    .where('seq', '=', sql.lit(1)),
)

const insert = insertInto('steers', ['id', 'organization_id', 'conversation_id', 'run_id'])

const insertKey = insertInto('steered_requests', [
  'organization_id',
  'conversation_id',
  'idempotency_key',
  'request_digest',
  'run_id',
])

const byRequest = statement<{ id: RunId }>()((db, p) =>
  db.selectFrom('steers').select('run_id').where('id', '=', p('id')),
)

const remove = statement<{ id: RunId }>()((db, p) => db.deleteFrom('steers').where('id', '=', p('id')))

const byKey = statement<{ conversation: ConversationId; key: string }>()((db, p) =>
  db
    .selectFrom('steered_requests')
    .select(['run_id as id', 'request_digest'])
    .where('conversation_id', '=', p('conversation'))
    .where('idempotency_key', '=', p('key')),
)

const sinceAnswer = statement<{ run: RunId }>()((db, p) =>
  db
    .selectFrom('events')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('run_number', '=', numberOfRun(p('run')))
    .where('type', '=', sql.lit('input-steered'))
    .where(
      'seq',
      '>',
      sql<number>`coalesce((select max(seq) from events as answer
        where answer.run_number = ${numberOfRun(p('run'))} and answer.type = 'answer-received'), 0)`,
    ),
)
