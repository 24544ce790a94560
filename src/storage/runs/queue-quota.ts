import { sql } from 'kysely'
import type { OrganizationId } from '../../core/id.ts'
import type { KeyId } from '../../core/people.ts'
import type { OpenedRun, OpenRun } from '../../ports/store.ts'
import { type Executor, statement } from '../database/statement.ts'

/** The queues of an organization and of a key are bounded; a run that starts at once is in none. */
export async function refuseOverQuota(db: Executor, { run, quota }: OpenRun): Promise<OpenedRun | undefined> {
  if (!quota) return undefined
  const { organization, key } = quota
  if (organization > 0) {
    const queued = await db.get(queuedOfOrganization, { organization: run.organizationId, limit: organization })
    if (Number(queued?.count ?? 0) >= organization)
      return { type: 'over-quota', of: 'organization', limit: organization }
  }
  if (key > 0 && run.openedBy) {
    const queued = await db.get(queuedOfKey, { key: run.openedBy, limit: key })
    if (Number(queued?.count ?? 0) >= key) return { type: 'over-quota', of: 'key', limit: key }
  }
  return undefined
}

/** Counts up to the limit: the cost of a full queue is bounded too. */
export const queuedOfOrganization = statement<{ organization: OrganizationId; limit: number }>()((db, p) =>
  db
    .selectFrom(
      db
        .selectFrom('runs')
        .select('number')
        .where('organization_id', '=', p('organization'))
        .where('status', '=', sql.lit('created' as const))
        .limit(p('limit'))
        .as('queued'),
    )
    .select((select) => select.fn.countAll<number>().as('count')),
)

export const queuedOfKey = statement<{ key: KeyId; limit: number }>()((db, p) =>
  db
    .selectFrom(
      db
        .selectFrom('runs')
        .select('number')
        .where('opened_by', '=', p('key'))
        .where('status', '=', sql.lit('created' as const))
        .limit(p('limit'))
        .as('queued'),
    )
    .select((select) => select.fn.countAll<number>().as('count')),
)
