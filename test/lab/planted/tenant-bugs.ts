import type { PlantedBug } from './plant.ts'

/** Bugs in the shares of organizations. */
export const TENANT_BUGS: PlantedBug[] = [
  {
    name: 'queued runs are claimed without regard to who is served',
    file: 'storage/runs/run-claims.ts',
    find: '  return candidates.toSorted((one, other) => countOf(one) - countOf(other) || rankOf(one) - rankOf(other))\n',
    replace: '  return candidates.toSorted((one, other) => 0 * (countOf(one) + rankOf(other)))\n',
    breaks: 'nothing is stuck: the queue of one organization does not hold up another',
  },
  {
    name: 'with one slot an organization is served again and again',
    file: 'engine/turn-shares.ts',
    find: 'served: [...served] }',
    replace: 'served: [...served].slice(0, 0) }',
    breaks: 'nothing is stuck: organizations take turns',
  },
  {
    name: 'keys of its own give an organization more queued turns',
    file: 'storage/runs/queue-quota.ts',
    find: '    const queued = await db.get(queuedOfOrganization, { organization: run.organizationId, limit: organization })\n',
    replace:
      '    const queued = await db.get(queuedOfKey, { key: run.openedBy ?? ("" as never), limit: organization })\n',
    breaks: 'nothing is stuck: more keys are no more queued turns',
  },
  {
    name: 'the price of a request is not reserved before it is sent',
    file: 'engine/shares.ts',
    find: 'changes: plan.reserved })',
    replace: 'changes: plan.reserved.slice(0, 0) })',
    breaks: 'nothing is hidden: requests that overlap do not pass a limit together',
  },
  {
    name: 'stored bytes are replaced instead of added',
    file: 'storage/migrations/025-stored-bytes.ts',
    find: 'bytes = stored_bytes.bytes + excluded.bytes',
    replace: 'bytes = excluded.bytes',
    breaks: 'nothing is hidden: what an organization stores is counted',
  },
]
