import { sql } from 'kysely'
import { defined } from '../../core/defined.ts'
import type { AccountLease } from '../../core/gateway/account.ts'
import type { ChatAddress } from '../../core/gateway/session.ts'
import type { OrganizationId } from '../../core/id.ts'
import type { Clock } from '../../ports/clock.ts'
import type { GatewayChange, GatewayCounts, GatewayStore } from '../../ports/gateway-store.ts'
import type { Database } from '../database/database.ts'
import { type Executor, statement } from '../database/statement.ts'
import { GATEWAY_DELIVERY, GATEWAY_SESSION, GATEWAY_TOKEN } from '../rows/gateway-rows.ts'
import { accountStore, holdsLease, lockKey } from './accounts.ts'
import {
  chatStore,
  insertDelivery,
  insertSession,
  insertToken,
  moveDeliveries,
  moveSessions,
  moveToken,
  pruneDeliveries,
  pruneTokens,
  saveDelivery,
  savePairing,
  saveSession,
  touchSession,
} from './chats.ts'
import { fileStore, pruneFiles } from './files.ts'
import { identityStore, linkIdentity, saveIdentity } from './identities.ts'
import { dropLane, endInbound, inboundStore, joinInbound, noteInbound, pinLane, pruneInbound } from './inbound.ts'
import { addOutbound, moveOutbound, outboundStore, pruneOutbound, reviseOutbound, tellUnknown } from './outbound.ts'

export function gatewayStore(database: Database, clock: Clock): GatewayStore {
  const { read, write } = database
  return {
    ...accountStore(database, clock),
    ...inboundStore(database),
    ...outboundStore(database),
    ...chatStore(database),
    ...identityStore(database),
    ...fileStore(database),

    commit: (lease, changes) =>
      write({
        key: lockKey(lease.account),
        async work(db) {
          if (!(await holdsLease(db, lease))) return false
          for (const change of changes) await carryOut(db, change, lease)
          return true
        },
        // Every change may be made again: inserts keep what is there, and a revision is sent again by an edit.
        findCommitted: () => undefined,
        announce: true,
      }),

    add: (message) =>
      write({
        key: lockKey(message.account),
        async work(db) {
          await addOutbound(db, message)
          return true
        },
        findCommitted: () => undefined,
        announce: true,
      }).then(() => undefined),

    counts: (organization) => read((db) => countAll(db, organization)),

    prune: ({ organizationId, account }, before) =>
      write({
        key: lockKey(account),
        async work(db) {
          const values = { organization: organizationId, account, before }
          let removed = 0
          for (const each of [pruneInbound, pruneOutbound, pruneDeliveries, pruneTokens, pruneFiles])
            removed += await db.run(each, values)
          return removed
        },
        findCommitted: () => undefined,
      }),
  }
}

async function carryOut(db: Executor, change: GatewayChange, { organizationId, account }: AccountLease): Promise<void> {
  const key = { organization: organizationId, account }
  switch (change.type) {
    case 'end-inbound': {
      const { numbers, reason, runId, conversationId, at } = change
      const state = runId ? ('run' as const) : ('ended' as const)
      const values = { state, reason: reason ?? null, run: runId ?? null, conversation: conversationId ?? null, at }
      for (const number of numbers) await db.run(endInbound, { number, ...values })
      return
    }
    case 'join-inbound':
      for (const number of change.numbers) await db.run(joinInbound, { number, head: change.head })
      return
    case 'note-inbound':
      await db.run(noteInbound, { number: change.number, note: change.note, due: change.dueAt })
      return
    case 'pin-lane': {
      const { lane, before, conversationId: conversation } = change
      await db.run(pinLane, { ...key, lane, before, conversation })
      return
    }
    case 'drop-lane':
      await db.run(dropLane, { ...key, lane: change.lane, before: change.before, at: change.at })
      return
    case 'save-session':
      return saveSession(db, change.session)
    case 'add-session':
      await db.run(insertSession, GATEWAY_SESSION.rowOf(change.session))
      return
    case 'touch-session':
      await db.run(touchSession, { ...key, key: change.key, at: change.at, ...addressValues(change.address) })
      return
    case 'move-chat': {
      const { from, to } = change
      for (const move of [moveSessions, moveDeliveries, moveOutbound]) await db.run(move, { ...key, from, to })
      return
    }
    case 'add-delivery':
      await db.run(insertDelivery, GATEWAY_DELIVERY.rowOf(change.delivery))
      return
    case 'save-delivery':
      return saveDelivery(db, change.delivery)
    case 'add-outbound':
      return addOutbound(db, change.message)
    case 'revise-outbound':
      return reviseOutbound(db, { ...change, organizationId, account: change.account ?? account })
    case 'told-unknown':
      await db.run(tellUnknown, { ...key, chat: change.chatId })
      return
    case 'add-token':
      await db.run(insertToken, GATEWAY_TOKEN.rowOf(change.token))
      return
    case 'move-token': {
      const { token, account: owner, chatId: chat, messageKey: message } = change.to
      await db.run(moveToken, { organization: organizationId, from: change.from, token, owner, chat, message })
      return
    }
    case 'save-pairing':
      return savePairing(db, change.pairing)
    case 'save-identity':
      return saveIdentity(db, change.identity)
    case 'link-identity':
      return linkIdentity(db, change)
  }
}

const addressValues = ({ chatId, thread, isPrivate }: ChatAddress) => ({
  chat: chatId,
  thread: thread ?? null,
  private: isPrivate ? 1 : 0,
})

async function countAll(db: Executor, organization: OrganizationId): Promise<GatewayCounts[]> {
  const rows = await db.all(countsOf, { organization })
  return rows.map((row) => ({
    account: row.name,
    pendingInbound: Number(row.pendingInbound),
    openOutbound: Number(row.openOutbound),
    unknownOutbound: Number(row.unknownOutbound),
    openDeliveries: Number(row.openDeliveries),
    ...defined({ oldestInboundAt: numberOf(row.oldestInbound), oldestOutboundAt: numberOf(row.oldestOutbound) }),
  }))
}

const numberOf = (value: number | null): number | undefined => (value === null ? undefined : Number(value))

/** Each count reads the partial index of what is open. */
const countsOf = statement<{ organization: OrganizationId }>()((db, p) => {
  const from = (what: string, table: string, condition: string) =>
    sql<number | null>`(select ${sql.raw(what)} from ${sql.raw(table)} as t
      where t.organization_id = gateway_accounts.organization_id and t.account = gateway_accounts.name
      and ${sql.raw(condition)})`
  const isOpen = "t.state in ('pending', 'sending')"
  return db
    .selectFrom('gateway_accounts')
    .select([
      'name',
      from('count(*)', 'gateway_inbound', "t.state = 'pending'").as('pendingInbound'),
      from('min(t.received_at)', 'gateway_inbound', "t.state = 'pending'").as('oldestInbound'),
      from('count(*)', 'gateway_outbound', isOpen).as('openOutbound'),
      from('min(t.created_at)', 'gateway_outbound', isOpen).as('oldestOutbound'),
      from('count(*)', 'gateway_outbound', "t.state = 'unknown' and t.is_told = 0").as('unknownOutbound'),
      from('count(*)', 'gateway_deliveries', "t.state <> 'ended'").as('openDeliveries'),
    ])
    .where('organization_id', '=', p('organization'))
    .orderBy('name')
})
