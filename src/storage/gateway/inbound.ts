import { type SqlBool, sql } from 'kysely'
import { defined } from '../../core/defined.ts'
import type { InboundReason, InboundRow, InboundState } from '../../core/gateway/inbound.ts'
import type { RawUpdate } from '../../core/gateway/incoming.ts'
import type { ConversationId, OrganizationId, RunId } from '../../core/id.ts'
import type { GatewayStore, InboundFilter } from '../../ports/gateway-store.ts'
import type { Database } from '../database/database.ts'
import { parametersOf } from '../database/row-statements.ts'
import { statement } from '../database/statement.ts'
import { GATEWAY_INBOUND } from '../rows/gateway-rows.ts'
import type { NewRow } from '../rows/tables.ts'
import { holdsLease, lockKey, moveCursor } from './accounts.ts'

type InboundStore = Pick<GatewayStore, 'accept' | 'pending' | 'isRepeated' | 'inbound'>

export function inboundStore({ read, write }: Database): InboundStore {
  return {
    accept: ({ organizationId, account, fence, cursor, at }, updates) =>
      write({
        key: lockKey(account),
        async work(db) {
          if (fence !== undefined && !(await holdsLease(db, { organizationId, account, fence }))) return false
          for (const update of updates) await db.run(insert, rowOf(update, { organizationId, account, at }))
          if (fence !== undefined && cursor !== undefined)
            await db.run(moveCursor, { organization: organizationId, account, cursor, at })
          return true
        },
        // Updates that are stored already are left as they are.
        findCommitted: () => undefined,
        announce: true,
      }),

    pending: ({ organizationId, account }, limit) =>
      read(async (db) => (await db.all(pending, { organization: organizationId, account, limit })).map(inboundOf)),

    isRepeated: async ({ organizationId, account }, { messageKey, number }) =>
      messageKey !== undefined &&
      (await read((db) => db.get(earlier, { organization: organizationId, account, message: messageKey, number }))) !==
        undefined,

    inbound: (organization, filter) =>
      read(async (db) => (await db.all(listed, filterOf(organization, filter))).map(inboundOf)),
  }
}

type Received = { organizationId: OrganizationId; account: string; at: number }

const rowOf = (
  { key, lane, messageKey, senderId, kind, raw, holdMs }: RawUpdate,
  { organizationId, account, at }: Received,
): NewRow<'gateway_inbound'> =>
  GATEWAY_INBOUND.rowOf({
    organizationId,
    account,
    key,
    lane,
    ...defined({ messageKey, senderId }),
    kind,
    raw,
    receivedAt: at,
    dueAt: at + holdMs,
    state: 'pending',
  })

function inboundOf(row: NewRow<'gateway_inbound'> & { number: number }): InboundRow {
  return { ...GATEWAY_INBOUND.objectOf(row), number: row.number }
}

const insert = statement<NewRow<'gateway_inbound'>>()((db, p) =>
  db
    .insertInto('gateway_inbound')
    .values(parametersOf(p, GATEWAY_INBOUND.columns))
    .onConflict((conflict) => conflict.columns(['organization_id', 'account', 'update_key']).doNothing()),
)

type Key = { organization: OrganizationId; account: string }

const pending = statement<Key & { limit: number }>()((db, p) =>
  db
    .selectFrom('gateway_inbound')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('state', '=', sql.lit('pending'))
    .orderBy('number')
    .limit(p('limit')),
)

const earlier = statement<Key & { message: string; number: number }>()((db, p) =>
  db
    .selectFrom('gateway_inbound')
    .select('number')
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('message_key', '=', p('message'))
    .where('number', '<', p('number'))
    .limit(sql.lit(1)),
)

const filterOf = (organization: OrganizationId, { account = '', state, before, limit }: InboundFilter) => ({
  organization,
  account,
  state: state ?? '',
  before: before ?? Number.MAX_SAFE_INTEGER,
  limit,
})

const listed = statement<Key & { state: string; before: number; limit: number }>()((db, p) =>
  db
    .selectFrom('gateway_inbound')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where(sql<SqlBool>`(cast(${p('account')} as text) = '' or account = ${p('account')})`)
    .where(sql<SqlBool>`(cast(${p('state')} as text) = '' or state = ${p('state')})`)
    .where('number', '<', p('before'))
    .orderBy('number', 'desc')
    .limit(p('limit')),
)

type End = {
  number: number
  state: InboundState
  reason: InboundReason | null
  run: RunId | null
  conversation: ConversationId | null
  at: number
}

export const endInbound = statement<End>()((db, p) =>
  db
    .updateTable('gateway_inbound')
    .set({
      state: p('state'),
      reason: p('reason'),
      run_id: p('run'),
      conversation_id: sql<ConversationId | null>`coalesce(${p('conversation')}, conversation_id)`,
      note: null,
      ended_at: p('at'),
    })
    .where('number', '=', p('number'))
    .where('state', '=', sql.lit('pending')),
)

export const joinInbound = statement<{ number: number; head: number }>()((db, p) =>
  db
    .updateTable('gateway_inbound')
    .set({ head: p('head') })
    .where('number', '=', p('number')),
)

export const noteInbound = statement<{ number: number; note: string; due: number }>()((db, p) =>
  db
    .updateTable('gateway_inbound')
    .set({ note: p('note'), due_at: p('due') })
    .where('number', '=', p('number'))
    .where('state', '=', sql.lit('pending')),
)

type Lane = Key & { lane: string; before: number }

export const pinLane = statement<Lane & { conversation: ConversationId }>()((db, p) =>
  db
    .updateTable('gateway_inbound')
    .set({ conversation_id: p('conversation') })
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('lane', '=', p('lane'))
    .where('state', '=', sql.lit('pending'))
    .where('kind', '=', sql.lit('message'))
    .where('number', '<', p('before'))
    .where('conversation_id', 'is', null),
)

export const dropLane = statement<Lane & { at: number }>()((db, p) =>
  db
    .updateTable('gateway_inbound')
    .set({ state: sql.lit('ended'), reason: sql.lit('stopped'), ended_at: p('at') })
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('lane', '=', p('lane'))
    .where('state', '=', sql.lit('pending'))
    .where('kind', '=', sql.lit('message'))
    .where('number', '<', p('before')),
)

/** Ended rows only. The keys of newer ones recognize updates that are delivered again. */
export const pruneInbound = statement<Key & { before: number }>()((db, p) =>
  db
    .deleteFrom('gateway_inbound')
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('state', '<>', sql.lit('pending'))
    .where('received_at', '<', p('before')),
)
