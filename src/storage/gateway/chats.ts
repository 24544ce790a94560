import { type SqlBool, sql } from 'kysely'
import type { Pairing } from '../../core/gateway/pairing.ts'
import type { ChatSession, Delivery } from '../../core/gateway/session.ts'
import type { OrganizationId, RunId } from '../../core/id.ts'
import type { GatewayStore } from '../../ports/gateway-store.ts'
import type { Database } from '../database/database.ts'
import { parametersOf } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { GATEWAY_DELIVERY, GATEWAY_PAIRING, GATEWAY_SESSION, GATEWAY_TOKEN } from '../rows/gateway-rows.ts'
import type { NewRow } from '../rows/tables.ts'
import { lockKey } from './accounts.ts'

type ChatStore = Pick<
  GatewayStore,
  | 'session'
  | 'sessions'
  | 'deliveries'
  | 'delivery'
  | 'pairing'
  | 'pairings'
  | 'decidePairing'
  | 'token'
  | 'tokensOf'
  | 'decide'
>

export function chatStore({ read, write }: Database): ChatStore {
  return {
    session: ({ organizationId, account }, key) =>
      read(async (db) => {
        const row = await db.get(sessionByKey, { organization: organizationId, account, key })
        return row && GATEWAY_SESSION.objectOf(row)
      }),

    sessions: (organization, account = '', limit) =>
      read(async (db) => (await db.all(sessionList, { organization, account, limit })).map(GATEWAY_SESSION.objectOf)),

    deliveries: ({ organizationId, account }, limit) =>
      read(async (db) =>
        (await db.all(owed, { organization: organizationId, account, limit })).map(GATEWAY_DELIVERY.objectOf),
      ),

    delivery: (organization, run) =>
      read(async (db) => {
        const row = await db.get(deliveryOf, { organization, run })
        return row && GATEWAY_DELIVERY.objectOf(row)
      }),

    pairing: ({ organizationId, account }, sender) =>
      read(async (db) => {
        const row = await db.get(pairingOf.plain, { organization: organizationId, account, sender })
        return row && GATEWAY_PAIRING.objectOf(row)
      }),

    pairings: (organization) =>
      read(async (db) => (await db.all(pairingList, { organization })).map(GATEWAY_PAIRING.objectOf)),

    decidePairing: ({ organizationId, account }, sender, decide) =>
      write({
        key: lockKey(account),
        async work(db) {
          const row = await db.get(pairingOf.locked, { organization: organizationId, account, sender })
          if (!row) return undefined
          const decided = decide(GATEWAY_PAIRING.objectOf(row))
          if (decided === 'delete') {
            await db.run(removePairing, { organization: organizationId, account, sender })
            return GATEWAY_PAIRING.objectOf(row)
          }
          await savePairing(db, decided)
          return decided
        },
        findCommitted: () => undefined,
        announce: true,
      }),

    token: (organization, token) =>
      read(async (db) => {
        const row = await db.get(tokenOf, { organization, token })
        return row && GATEWAY_TOKEN.objectOf(row)
      }),

    tokensOf: (organization, run) =>
      read(async (db) => (await db.all(tokensOf, { organization, run })).map(GATEWAY_TOKEN.objectOf)),

    decide: (organization, { token, decision, by, at }) =>
      write({
        key: lockKey(token),
        async work(db) {
          await db.run(decideOnce, { organization, token, decision, by, at })
          const row = await db.get(tokenOf, { organization, token })
          return row && GATEWAY_TOKEN.objectOf(row)
        },
        findCommitted: () => undefined,
        announce: true,
      }),
  }
}

export async function saveSession(db: Executor, session: ChatSession): Promise<void> {
  await db.run(putSession, GATEWAY_SESSION.rowOf(session))
}

export async function saveDelivery(db: Executor, delivery: Delivery): Promise<void> {
  await db.run(putDelivery, GATEWAY_DELIVERY.rowOf(delivery))
}

export async function savePairing(db: Executor, pairing: Pairing): Promise<void> {
  await db.run(putPairing, GATEWAY_PAIRING.rowOf(pairing))
}

type Key = { organization: OrganizationId; account: string }

const sessionByKey = statement<Key & { key: string }>()((db, p) =>
  db
    .selectFrom('gateway_sessions')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('session_key', '=', p('key')),
)

const sessionList = statement<Key & { limit: number }>()((db, p) =>
  db
    .selectFrom('gateway_sessions')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where(sql<SqlBool>`(cast(${p('account')} as text) = '' or account = ${p('account')})`)
    .orderBy('last_at', 'desc')
    .limit(p('limit')),
)

const putSession = statement<NewRow<'gateway_sessions'>>()((db, p) =>
  db
    .insertInto('gateway_sessions')
    .values(parametersOf(p, GATEWAY_SESSION.columns))
    .onConflict((conflict) =>
      conflict.columns(['organization_id', 'account', 'session_key']).doUpdateSet({
        chat_id: p('chat_id'),
        thread: p('thread'),
        is_private: p('is_private'),
        title: p('title'),
        agent_id: p('agent_id'),
        conversation_id: p('conversation_id'),
        busy: p('busy'),
        created_at: p('created_at'),
        last_at: p('last_at'),
      }),
    ),
)

export const insertSession = statement<NewRow<'gateway_sessions'>>()((db, p) =>
  db
    .insertInto('gateway_sessions')
    .values(parametersOf(p, GATEWAY_SESSION.columns))
    .onConflict((conflict) => conflict.columns(['organization_id', 'account', 'session_key']).doNothing()),
)

type Touch = Key & { key: string; chat: string; thread: string | null; private: number; at: number }

export const touchSession = statement<Touch>()((db, p) =>
  db
    .updateTable('gateway_sessions')
    .set({ chat_id: p('chat'), thread: p('thread'), is_private: p('private'), last_at: p('at') })
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('session_key', '=', p('key')),
)

/** The key of a session begins with its chat; `per-user` and threads add to it. */
export const moveSessions = statement<Key & { from: string; to: string }>()((db, p) =>
  db
    .updateTable('gateway_sessions')
    .set({
      chat_id: p('to'),
      session_key: sql<string>`case when session_key = 'shared' then session_key
        else cast(${p('to')} as text) || substr(session_key, length(cast(${p('from')} as text)) + 1) end`,
    })
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('chat_id', '=', p('from')),
)

export const moveDeliveries = statement<Key & { from: string; to: string }>()((db, p) =>
  db
    .updateTable('gateway_deliveries')
    .set({ chat_id: p('to') })
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('chat_id', '=', p('from'))
    .where('state', '<>', sql.lit('ended')),
)

const owed = statement<Key & { limit: number }>()((db, p) =>
  db
    .selectFrom('gateway_deliveries')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('state', '<>', sql.lit('ended'))
    .orderBy('created_at')
    .limit(p('limit')),
)

const deliveryOf = statement<{ organization: OrganizationId; run: RunId }>()((db, p) =>
  db
    .selectFrom('gateway_deliveries')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where('run_id', '=', p('run')),
)

export const insertDelivery = statement<NewRow<'gateway_deliveries'>>()((db, p) =>
  db
    .insertInto('gateway_deliveries')
    .values(parametersOf(p, GATEWAY_DELIVERY.columns))
    .onConflict((conflict) => conflict.column('run_id').doNothing()),
)

/** A delivery that has ended stays so. */
const putDelivery = statement<NewRow<'gateway_deliveries'>>()((db, p) =>
  db
    .insertInto('gateway_deliveries')
    .values(parametersOf(p, GATEWAY_DELIVERY.columns))
    .onConflict((conflict) =>
      conflict
        .column('run_id')
        .doUpdateSet({ state: p('state') })
        .where('gateway_deliveries.state', '<>', sql.lit('ended')),
    ),
)

export const pruneDeliveries = statement<Key & { before: number }>()((db, p) =>
  db
    .deleteFrom('gateway_deliveries')
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('state', '=', sql.lit('ended'))
    .where('created_at', '<', p('before')),
)

const pairingFor = (isLocked: boolean) =>
  statement<Key & { sender: string }>()((db, p, { lock }) => {
    const found = db
      .selectFrom('gateway_pairings')
      .selectAll()
      .where('organization_id', '=', p('organization'))
      .where('account', '=', p('account'))
      .where('sender_id', '=', p('sender'))
    return isLocked ? lock(found) : found
  })

const pairingOf = { plain: pairingFor(false), locked: pairingFor(true) }

const pairingList = statement<{ organization: OrganizationId }>()((db, p) =>
  db
    .selectFrom('gateway_pairings')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .orderBy('account')
    .orderBy('created_at'),
)

const putPairing = statement<NewRow<'gateway_pairings'>>()((db, p) =>
  db
    .insertInto('gateway_pairings')
    .values(parametersOf(p, GATEWAY_PAIRING.columns))
    .onConflict((conflict) =>
      conflict.columns(['organization_id', 'account', 'sender_id']).doUpdateSet({
        name: p('name'),
        state: p('state'),
        code: p('code'),
        created_at: p('created_at'),
        expires_at: p('expires_at'),
        approved_by: p('approved_by'),
      }),
    ),
)

const removePairing = statement<Key & { sender: string }>()((db, p) =>
  db
    .deleteFrom('gateway_pairings')
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('sender_id', '=', p('sender')),
)

export const insertToken = statement<NewRow<'gateway_tokens'>>()((db, p) =>
  db
    .insertInto('gateway_tokens')
    .values(parametersOf(p, GATEWAY_TOKEN.columns))
    .onConflict((conflict) => conflict.columns(['organization_id', 'run_id', 'call_id']).doNothing()),
)

type Move = {
  organization: OrganizationId
  from: string
  token: string
  owner: string
  chat: string
  message: string
}

/** A press that was committed counts. */
export const moveToken = statement<Move>()((db, p) =>
  db
    .updateTable('gateway_tokens')
    .set({ token: p('token'), account: p('owner'), chat_id: p('chat'), message_key: p('message') })
    .where('organization_id', '=', p('organization'))
    .where('token', '=', p('from'))
    .where('decision', 'is', null),
)

const tokenOf = statement<{ organization: OrganizationId; token: string }>()((db, p) =>
  db
    .selectFrom('gateway_tokens')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where('token', '=', p('token')),
)

const tokensOf = statement<{ organization: OrganizationId; run: RunId }>()((db, p) =>
  db
    .selectFrom('gateway_tokens')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where('run_id', '=', p('run'))
    .orderBy('created_at')
    .orderBy('call_id'),
)

type Decision = { organization: OrganizationId; token: string; decision: 'approve' | 'deny'; by: string; at: number }

/** The first decision counts. */
const decideOnce = statement<Decision>()((db, p) =>
  db
    .updateTable('gateway_tokens')
    .set({ decision: p('decision'), decided_by: p('by'), decided_at: p('at') })
    .where('organization_id', '=', p('organization'))
    .where('token', '=', p('token'))
    .where('decision', 'is', null),
)

export const pruneTokens = statement<Key & { before: number }>()((db, p) =>
  db
    .deleteFrom('gateway_tokens')
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('created_at', '<', p('before')),
)
