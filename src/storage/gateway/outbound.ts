import { type SqlBool, sql } from 'kysely'
import type { NewOutbound, OutboundBody, OutboundRow, OutboundState } from '../../core/gateway/outbound.ts'
import type { OrganizationId } from '../../core/id.ts'
import type { GatewayStore, SendResult } from '../../ports/gateway-store.ts'
import type { Database } from '../database/database.ts'
import { parametersOf } from '../database/row-statements.ts'
import { type Executor, listParameters, listValues, type Slots, statement } from '../database/statement.ts'
import { GATEWAY_OUTBOUND } from '../rows/gateway-rows.ts'
import type { NewRow } from '../rows/tables.ts'
import { holdsLease, lockKey } from './accounts.ts'

type OutboundStore = Pick<GatewayStore, 'open' | 'beginSend' | 'endSend' | 'outbound' | 'untold' | 'sent'>

export function outboundStore({ read, write }: Database): OutboundStore {
  return {
    open: ({ organizationId, account }, limit) =>
      read(async (db) => (await db.all(open, { organization: organizationId, account, limit })).map(outboundOf)),

    beginSend: (lease, number, at) =>
      write({
        key: lockKey(lease.account),
        async work(db) {
          if (!(await holdsLease(db, lease))) return undefined
          const row = await db.get(begin, { number, at })
          return row && outboundOf(row)
        },
        // The row is `sending` then, and this attempt made no call: the caller settles it as one that was not made.
        findCommitted: () => undefined,
      }),

    endSend: (lease, result) =>
      write({
        key: lockKey(lease.account),
        async work(db) {
          if (!(await holdsLease(db, lease))) return false
          return (await db.run(end, resultValues(result))) > 0
        },
        findCommitted: () => undefined,
      }),

    outbound: ({ organizationId, account }, key) =>
      read(async (db) => {
        const row = await db.get(byKey, { organization: organizationId, account, key })
        return row && outboundOf(row)
      }),

    untold: ({ organizationId, account }, chat) =>
      read(async (db) => (await db.all(untold, { organization: organizationId, account, chat })).map(outboundOf)),

    sent: (organization, { account = '', states = [], before, limit }) =>
      read(async (db) => {
        const values = {
          organization,
          account,
          any: states.length === 0 ? 1 : 0,
          before: before ?? Number.MAX_SAFE_INTEGER,
          limit,
        }
        return (await db.all(listed, { ...values, ...listValues('state', states, STATE_SLOTS) })).map(outboundOf)
      }),
  }
}

const STATE_SLOTS = 5

const outboundOf = (row: NewRow<'gateway_outbound'> & { number: number }): OutboundRow => {
  const message = GATEWAY_OUTBOUND.objectOf(row)
  return { ...message, number: row.number }
}

/** Nothing if the account has a message with this key. */
export async function addOutbound(db: Executor, message: NewOutbound): Promise<void> {
  const { createdAt } = message
  const initial = {
    version: 1,
    state: 'pending' as const,
    attempts: 0,
    failures: 0,
    lost: 0,
    isPlain: false,
    isTold: false,
  }
  await db.run(insert, GATEWAY_OUTBOUND.rowOf({ ...message, ...initial, dueAt: createdAt, updatedAt: createdAt }))
}

type Revision = { organizationId: OrganizationId; account: string; key: string; body: OutboundBody; at: number }

/** A message that is being sent stays so; its end finds the new version and sends again. */
export async function reviseOutbound(
  db: Executor,
  { organizationId, account, key, body, at }: Revision,
): Promise<void> {
  await db.run(revise, { organization: organizationId, account, key, body: JSON.stringify(body), at })
}

const insert = statement<NewRow<'gateway_outbound'>>()((db, p) =>
  db
    .insertInto('gateway_outbound')
    .values(parametersOf(p, GATEWAY_OUTBOUND.columns))
    .onConflict((conflict) => conflict.columns(['organization_id', 'account', 'message_key']).doNothing()),
)

type Key = { organization: OrganizationId; account: string }

const open = statement<Key & { limit: number }>()((db, p) =>
  db
    .selectFrom('gateway_outbound')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where(sql<SqlBool>`state in ('pending', 'sending')`)
    .orderBy('number')
    .limit(p('limit')),
)

const begin = statement<{ number: number; at: number }>()((db, p) =>
  db
    .updateTable('gateway_outbound')
    .set({ state: sql.lit('sending'), updated_at: p('at') })
    .where('number', '=', p('number'))
    .where('state', '=', sql.lit('pending'))
    .returningAll(),
)

type ResultValues = {
  number: number
  version: number
  state: OutboundState
  message: string | null
  attempts: number
  failures: number
  thread: string | null
  lost: number
  plain: number
  due: number
  error: string | null
  at: number
}

const resultValues = (result: SendResult): ResultValues => ({
  number: result.number,
  version: result.version,
  state: result.state,
  message: result.messageId ?? null,
  attempts: result.attempts,
  failures: result.failures,
  thread: result.thread ?? null,
  lost: result.lost,
  plain: result.isPlain ? 1 : 0,
  due: result.dueAt,
  error: result.error ?? null,
  at: result.at,
})

const end = statement<ResultValues>()((db, p) =>
  db
    .updateTable('gateway_outbound')
    .set({
      state: sql<OutboundState>`case when version = ${p('version')} then cast(${p('state')} as text) else 'pending' end`,
      message_id: p('message'),
      attempts: sql<number>`case when version = ${p('version')} then cast(${p('attempts')} as integer) else 0 end`,
      failures: p('failures'),
      thread: p('thread'),
      lost: p('lost'),
      is_plain: p('plain'),
      due_at: p('due'),
      error: p('error'),
      updated_at: p('at'),
    })
    .where('number', '=', p('number'))
    .where('state', '=', sql.lit('sending')),
)

const revise = statement<Key & { key: string; body: string; at: number }>()((db, p) =>
  db
    .updateTable('gateway_outbound')
    .set({
      body: p('body'),
      version: sql<number>`version + 1`,
      state: sql<OutboundState>`case when state = 'sending' then state else 'pending' end`,
      attempts: sql.lit(0),
      is_plain: sql.lit(0),
      due_at: p('at'),
      updated_at: p('at'),
    })
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('message_key', '=', p('key'))
    // A message that cannot arrive any more stays failed.
    .where(sql<SqlBool>`state not in ('failed', 'unknown')`)
    .where('body', '<>', p('body')),
)

const byKey = statement<Key & { key: string }>()((db, p) =>
  db
    .selectFrom('gateway_outbound')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('message_key', '=', p('key')),
)

const untold = statement<Key & { chat: string }>()((db, p) =>
  db
    .selectFrom('gateway_outbound')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('chat_id', '=', p('chat'))
    .where('state', '=', sql.lit('unknown'))
    .where('is_told', '=', sql.lit(0)),
)

export const tellUnknown = statement<Key & { chat: string }>()((db, p) =>
  db
    .updateTable('gateway_outbound')
    .set({ is_told: sql.lit(1) })
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('chat_id', '=', p('chat'))
    .where('state', '=', sql.lit('unknown')),
)

type Listed = Key & { any: number; before: number; limit: number } & Slots<'state', OutboundState>

const listed = statement<Listed>()((db, p) =>
  db
    .selectFrom('gateway_outbound')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where(sql<SqlBool>`(cast(${p('account')} as text) = '' or account = ${p('account')})`)
    .where((where) =>
      where.or([
        sql<SqlBool>`cast(${p('any')} as integer) = 1`,
        where('state', 'in', listParameters<Listed, 'state'>(p, 'state', STATE_SLOTS) as OutboundState[]),
      ]),
    )
    .where('number', '<', p('before'))
    .orderBy('number', 'desc')
    .limit(p('limit')),
)

export const moveOutbound = statement<Key & { from: string; to: string }>()((db, p) =>
  db
    .updateTable('gateway_outbound')
    .set({ chat_id: p('to') })
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('chat_id', '=', p('from'))
    .where(sql<SqlBool>`state in ('pending', 'sending')`),
)

/** Messages that were sent or failed. An unknown one stays until the chat was told. */
export const pruneOutbound = statement<Key & { before: number }>()((db, p) =>
  db
    .deleteFrom('gateway_outbound')
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where(sql<SqlBool>`(state in ('sent', 'failed') or (state = 'unknown' and is_told = 1))`)
    .where('updated_at', '<', p('before')),
)
