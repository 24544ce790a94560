import type { Cooldown } from '../../core/credential.ts'
import { defined } from '../../core/defined.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CredentialStore } from '../../ports/credential-store.ts'
import type { Database } from '../database/database.ts'
import { type CredentialRow, credentialOf, credentialRowOf, sealedOf } from '../rows/credential-row.ts'
import { clearCooldown } from './cooldowns.ts'
import {
  add,
  byId,
  claim,
  countUses,
  listed,
  markDead,
  type PoolRow,
  poolOf,
  releaseClaim,
  remove,
  renew,
  reseal,
  sealedPage,
} from './credential-statements.ts'
import { forgetNotesOf } from './model-notes.ts'

export function credentialStore({ read, write }: Database, clock: Pick<Clock, 'now'>): CredentialStore {
  return {
    add: (credential) =>
      write({
        key: credential.id,
        work: async (db) => (await db.run(add, credentialRowOf(credential))) > 0,
        findCommitted: async (db) => ((await db.get(byId, { id: credential.id })) ? true : undefined),
      }),

    get: (organizationId, id) =>
      read(async (db) => {
        const row = await db.get(byId, { id })
        return row?.organization_id === organizationId ? credentialOf(row) : undefined
      }),

    list: (organizationId, provider) =>
      read(async (db) => {
        const anyProvider = provider === undefined ? 1 : 0
        const rows = await db.all(listed, { organization: organizationId, anyProvider, provider: provider ?? '' })
        return rows.map(credentialOf)
      }),

    remove: (organizationId, id) =>
      write({
        key: id,
        async work(db) {
          const removed = await db.run(remove, { organization: organizationId, id })
          if (removed === 0) return false
          await clearCooldown(db, organizationId, { scope: 'credential', key: id })
          await forgetNotesOf(db, organizationId, id)
          return true
        },
        findCommitted: () => undefined,
      }),

    pool: (organizationId, provider) =>
      read(async (db) => {
        const rows = await db.all(poolOf, { organization: organizationId, provider })
        return {
          credentials: rows.flatMap((row) => (row.id === null ? [] : [credentialOf(row as CredentialRow)])),
          cooldowns: rows.flatMap(cooldownIn),
        }
      }),

    claimRefresh: (id, { claimId, generation, leaseMs }) =>
      write({
        key: id,
        async work(db) {
          const values = { id, claimId, generation, leaseMs, now: clock.now() }
          if ((await db.run(claim, values)) > 0) return 'claimed' as const
          const row = await db.get(byId, { id })
          return row?.generation === generation && row.dead_reason === null ? ('held' as const) : ('moved' as const)
        },
        async findCommitted(db) {
          const row = await db.get(byId, { id })
          return row?.refreshing_by === claimId ? 'claimed' : undefined
        },
      }),

    renew: (id, { generation, sealed, expiresAt, oauth, at }) =>
      write({
        key: id,
        async work(db) {
          const values = {
            id,
            generation,
            at,
            secret: sealed.secret,
            refreshToken: sealed.refreshToken ?? null,
            expiresAt: expiresAt ?? null,
            oauth: oauth ? JSON.stringify(oauth) : null,
          }
          return (await db.run(renew, values)) > 0
        },
        findCommitted: async (db) => ((await db.get(byId, { id }))?.sealed_secret === sealed.secret ? true : undefined),
        announce: true,
      }),

    releaseRefresh: (id, { claimId, failure }) =>
      write({
        key: id,
        work: async (db) => (await db.run(releaseClaim, { id, claimId, failure })) > 0,
        findCommitted: () => undefined,
        announce: true,
      }).then(() => undefined),

    markDead: (id, { generation, reason, detail, at }) =>
      write({
        key: id,
        work: async (db) => (await db.run(markDead, { id, generation, reason, detail, at })) > 0,
        findCommitted: () => undefined,
        announce: true,
      }),

    countUses: (uses) =>
      write({
        key: '',
        async work(db) {
          // In the same order in every process, to avoid deadlocks.
          for (const use of [...uses].sort((one, other) => (one.id < other.id ? -1 : 1))) await db.run(countUses, use)
          return true
        },
        findCommitted: () => true,
      }).then(() => undefined),

    sealedPage: (after, limit) =>
      read(async (db) => {
        const rows = await db.all(sealedPage, { after, limit })
        return rows.map((row) => ({ number: row.number, id: row.id, sealed: sealedOf(row) }))
      }),

    reseal: (id, from, to) =>
      write({
        key: id,
        async work(db) {
          const values = {
            id,
            secret: from.secret,
            refreshToken: from.refreshToken ?? '',
            newSecret: to.secret,
            newRefreshToken: to.refreshToken ?? null,
          }
          return (await db.run(reseal, values)) > 0
        },
        findCommitted: async (db) => ((await db.get(byId, { id }))?.sealed_secret === to.secret ? true : undefined),
      }),
  }
}

/** The joined columns are all set or all null. */
const cooldownIn = (row: PoolRow): Cooldown[] =>
  row.cooldown_key === null
    ? []
    : [
        {
          scope: 'credential',
          key: row.cooldown_key,
          provider: row.cooldown_provider!,
          reason: row.cooldown_reason!,
          detail: row.cooldown_detail!,
          until: row.cooldown_until!,
          ...defined({ runId: row.cooldown_run_id ?? undefined }),
          createdAt: row.cooldown_created_at!,
        },
      ]
