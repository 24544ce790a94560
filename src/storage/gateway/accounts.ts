import { type SqlBool, sql } from 'kysely'
import type { AccountLease, GatewayAccount } from '../../core/gateway/account.ts'
import type { PlatformName } from '../../core/gateway/platforms.ts'
import type { OrganizationId, WorkerId } from '../../core/id.ts'
import type { Clock } from '../../ports/clock.ts'
import type { AccountChange, GatewayStore } from '../../ports/gateway-store.ts'
import type { Database } from '../database/database.ts'
import { type Executor, statement } from '../database/statement.ts'
import { GATEWAY_ACCOUNT } from '../rows/gateway-rows.ts'

type AccountStore = Pick<GatewayStore, 'ensure' | 'accounts' | 'claim' | 'release' | 'setAccount'>

export function accountStore({ read, write }: Database, clock: Clock): AccountStore {
  return {
    ensure: ({ organizationId, account, platform, at }) =>
      write({
        key: lockKey(account),
        async work(db) {
          await db.run(ensure, { organization: organizationId, account, platform, at })
          return true
        },
        findCommitted: () => undefined,
      }).then(() => undefined),

    accounts: (organization) =>
      read(async (db) => (await db.all(ofOrganization, { organization })).map(GATEWAY_ACCOUNT.objectOf)),

    claim: ({ organizationId, account }, owner) =>
      write({
        key: lockKey(account),
        work: (db) => claimAccount(db, { organization: organizationId, account, owner, now: leaseNow(clock) }),
        findCommitted: () => undefined,
      }),

    release: (lease, { at, state, detail }) =>
      write({
        key: lockKey(lease.account),
        work: async (db) => (await db.run(release, { ...keyOf(lease), at, state, detail: detail ?? null })) > 0,
        findCommitted: () => undefined,
        announce: true,
      }),

    setAccount: (lease, change) =>
      write({
        key: lockKey(lease.account),
        work: async (db) => (await db.run(change.lastSuccessAt ? setUp : setState, valuesOf(lease, change))) > 0,
        findCommitted: () => undefined,
      }),
  }
}

/** Writes of one account run in order, and after those of runs, which lock other rows. */
export const lockKey = (account: string): string => `gateway/${account}`

const leaseNow = (clock: Clock): number => Math.floor(clock.monotonic())

const keyOf = ({ organizationId, account, fence }: AccountLease) => ({ organization: organizationId, account, fence })

async function claimAccount(
  db: Executor,
  values: { organization: OrganizationId; account: string; owner: WorkerId; now: number },
): Promise<GatewayAccount | undefined> {
  const row = (await db.get(keep, values)) ?? (await db.get(claim, values))
  return row && GATEWAY_ACCOUNT.objectOf(row)
}

type Key = { organization: OrganizationId; account: string }

const ensure = statement<Key & { platform: PlatformName; at: number }>()((db, p) =>
  db
    .insertInto('gateway_accounts')
    .values({
      organization_id: p('organization'),
      name: p('account'),
      platform: p('platform'),
      state: 'connecting',
      fence: sql.lit(0),
      updated_at: p('at'),
      detail: null,
      bot_id: null,
      bot_name: null,
      cursor_value: null,
      owner: null,
      last_success_at: null,
      next_try_at: null,
    })
    .onConflict((conflict) => conflict.columns(['organization_id', 'name']).doUpdateSet({ platform: p('platform') })),
)

const ofOrganization = statement<{ organization: OrganizationId }>()((db, p) =>
  db.selectFrom('gateway_accounts').selectAll().where('organization_id', '=', p('organization')).orderBy('name'),
)

const keep = statement<Key & { owner: WorkerId; now: number }>()((db, p) =>
  db
    .selectFrom('gateway_accounts')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where('name', '=', p('account'))
    .where('owner', '=', p('owner')),
)

const claim = statement<Key & { owner: WorkerId; now: number }>()((db, p, { leaseClock }) =>
  db
    .updateTable('gateway_accounts')
    .set({ owner: p('owner'), fence: sql<number>`fence + 1` })
    .where('organization_id', '=', p('organization'))
    .where('name', '=', p('account'))
    .where(
      sql<SqlBool>`(owner is null or owner not in
        (select id from workers where expires_at > ${leaseClock(p('now'))}))`,
    )
    .returningAll(),
)

type Fenced = Key & { fence: number }

const release = statement<Fenced & { at: number; state: AccountChange['state']; detail: string | null }>()((db, p) =>
  db
    .updateTable('gateway_accounts')
    .set({ owner: null, state: p('state'), detail: p('detail'), next_try_at: null, updated_at: p('at') })
    .where('organization_id', '=', p('organization'))
    .where('name', '=', p('account'))
    .where('fence', '=', p('fence')),
)

type StateValues = Fenced & {
  state: AccountChange['state']
  detail: string | null
  botId: string | null
  botName: string | null
  success: number | null
  next: number | null
  at: number
}

const valuesOf = (lease: AccountLease, change: AccountChange): StateValues => ({
  ...keyOf(lease),
  state: change.state,
  detail: change.detail ?? null,
  botId: change.botId ?? null,
  botName: change.botName ?? null,
  success: change.lastSuccessAt ?? null,
  next: change.nextTryAt ?? null,
  at: change.at,
})

/** A cursor of another bot means nothing for this one. */
const setUp = statement<StateValues>()((db, p) =>
  db
    .updateTable('gateway_accounts')
    .set({
      state: p('state'),
      detail: p('detail'),
      cursor_value: sql<
        string | null
      >`case when cast(${p('botId')} as text) is null or bot_id = ${p('botId')} then cursor_value else null end`,
      bot_id: sql<string | null>`coalesce(${p('botId')}, bot_id)`,
      bot_name: sql<string | null>`coalesce(${p('botName')}, bot_name)`,
      last_success_at: p('success'),
      next_try_at: p('next'),
      updated_at: p('at'),
    })
    .where('organization_id', '=', p('organization'))
    .where('name', '=', p('account'))
    .where('fence', '=', p('fence')),
)

const setState = statement<StateValues>()((db, p) =>
  db
    .updateTable('gateway_accounts')
    .set({ state: p('state'), detail: p('detail'), next_try_at: p('next'), updated_at: p('at') })
    .where('organization_id', '=', p('organization'))
    .where('name', '=', p('account'))
    .where('fence', '=', p('fence')),
)

/** Whether this lease is the current one; holds it until the transaction ends. */
export async function holdsLease(db: Executor, lease: AccountLease): Promise<boolean> {
  return (await db.get(current, keyOf(lease))) !== undefined
}

const current = statement<Fenced>()((db, p, { lock }) =>
  lock(
    db
      .selectFrom('gateway_accounts')
      .select('name')
      .where('organization_id', '=', p('organization'))
      .where('name', '=', p('account'))
      .where('fence', '=', p('fence')),
  ),
)

export const moveCursor = statement<Key & { cursor: string; at: number }>()((db, p) =>
  db
    .updateTable('gateway_accounts')
    .set({ cursor_value: p('cursor'), last_success_at: p('at') })
    .where('organization_id', '=', p('organization'))
    .where('name', '=', p('account')),
)
