import { sql } from 'kysely'
import type { OrganizationId } from '../../core/id.ts'
import type { OrganizationPolicy } from '../../core/organization-limits.ts'
import type { ShareStore, SpendAccount, SpendChange } from '../../ports/shares.ts'
import type { Database } from '../database/database.ts'
import { type Executor, statement } from '../database/statement.ts'
import { queuedOfKey, queuedOfOrganization } from './queue-quota.ts'
import { foldStoredBytes, storedBytesOf } from './stored-bytes.ts'

/** What organizations may use, and what their model requests cost. */
export function shareStore({ read, write }: Database): ShareStore {
  return {
    policyOf: (organization) =>
      read(async (db) => {
        const row = await db.get(policyOf, { organization })
        return row && (JSON.parse(row.policy) as OrganizationPolicy)
      }),

    spend: (change) =>
      write({
        key: change.organizationId,
        work: (db) => spend(db, change),
        // An amount of unknown outcome counts twice at worst: a limit is reached early, never passed.
        findCommitted: () => undefined,
      }),

    spentOn: (organization, day) =>
      read(async (db) =>
        (await db.all(spentOn, { organization, day })).map(({ account, micro_dollars, tokens }) => ({
          account: account as SpendAccount,
          microDollars: Number(micro_dollars),
          tokens: Number(tokens),
        })),
      ),

    async storedBytes(organization) {
      const { bytes, rows } = await read((db) => storedBytesOf(db, organization))
      if (rows > MOST_ROWS)
        await write({
          key: organization,
          work: (db) => foldStoredBytes(db, organization),
          findCommitted: () => undefined,
        })
      return bytes
    },

    countQueued: ({ organizationId, keyId }) =>
      read(async (db) => {
        const ofOrganization = await db.get(queuedOfOrganization, { organization: organizationId, limit: MOST_COUNTED })
        const ofKey = keyId ? await db.get(queuedOfKey, { key: keyId, limit: MOST_COUNTED }) : undefined
        return { organization: Number(ofOrganization?.count ?? 0), key: Number(ofKey?.count ?? 0) }
      }),
  }
}

/** Connections that have counted for an organization. */
const MOST_ROWS = 100
const MOST_COUNTED = 10_000

async function spend(db: Executor, { organizationId, day, changes }: SpendChange): Promise<'spent' | SpendAccount> {
  // Checked first: a write that is refused changes nothing.
  for (const { account, microDollars, tokens, limit } of changes) {
    if (!limit) continue
    // There must be a row to lock.
    await db.run(add, { organization: organizationId, day, account, microDollars: 0, tokens: 0 })
    const found = await db.get(accountOf, { organization: organizationId, day, account })
    const total = {
      microDollars: Number(found?.micro_dollars ?? 0) + microDollars,
      tokens: Number(found?.tokens ?? 0) + tokens,
    }
    if (limit.microDollars !== undefined && total.microDollars > limit.microDollars) return account
    if (limit.tokens !== undefined && total.tokens > limit.tokens) return account
  }
  for (const { account, microDollars, tokens } of changes)
    await db.run(add, { organization: organizationId, day, account, microDollars, tokens })
  return 'spent'
}

const policyOf = statement<{ organization: OrganizationId }>()((db, p) =>
  db.selectFrom('organization_policies').select('policy').where('organization_id', '=', p('organization')),
)

/** Locks the row, so that two processes cannot both take the last of a limit. */
const accountOf = statement<{ organization: OrganizationId; day: string; account: string }>()((db, p, { lock }) =>
  lock(
    db
      .selectFrom('spending')
      .select(['micro_dollars', 'tokens'])
      .where('organization_id', '=', p('organization'))
      .where('day', '=', p('day'))
      .where('account', '=', p('account')),
  ),
)

const spentOn = statement<{ organization: OrganizationId; day: string }>()((db, p) =>
  db
    .selectFrom('spending')
    .select(['account', 'micro_dollars', 'tokens'])
    .where('organization_id', '=', p('organization'))
    .where('day', '=', p('day'))
    .orderBy('account'),
)

type Addition = { organization: OrganizationId; day: string; account: string; microDollars: number; tokens: number }

const add = statement<Addition>()((db, p) =>
  db
    .insertInto('spending')
    .values({
      organization_id: p('organization'),
      day: p('day'),
      account: p('account'),
      micro_dollars: p('microDollars'),
      tokens: p('tokens'),
    })
    .onConflict((conflict) =>
      conflict.columns(['organization_id', 'day', 'account']).doUpdateSet({
        micro_dollars: sql`spending.micro_dollars + ${p('microDollars')}`,
        tokens: sql`spending.tokens + ${p('tokens')}`,
      }),
    ),
)
