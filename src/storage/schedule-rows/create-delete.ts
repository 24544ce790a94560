import type { OrganizationId, ScheduleId } from '../../core/id.ts'
import type { Schedule } from '../../core/schedule.ts'
import type { CreatedSchedule } from '../../ports/schedule-store.ts'
import { lockAgent } from '../database/lock-agent.ts'
import { insertInto } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { SCHEDULE_COLUMNS, scheduleRowOf } from '../rows/schedule-row.ts'

/** The limit is counted behind the lock of the organization's agent: two requests could pass it only for two agents. */
export async function createSchedule(db: Executor, schedule: Schedule, limit: number): Promise<CreatedSchedule> {
  const { organizationId: organization, agentId: agent } = schedule
  if (!(await db.get(lockAgent, { organization, agent }))) return 'no-agent'
  if (limit > 0 && (await countSchedules(db, organization)) >= limit) return 'over-limit'
  await db.run(insert, scheduleRowOf(schedule))
  return 'created'
}

export const countSchedules = async (db: Executor, organization: OrganizationId): Promise<number> =>
  Number((await db.get(counted, { organization }))?.count ?? 0)

/** With its history; its runs stay. */
export async function deleteSchedule(db: Executor, id: ScheduleId): Promise<void> {
  await db.run(removeHistory, { id })
  await db.run(remove, { id })
}

const insert = insertInto('schedules', SCHEDULE_COLUMNS)

const counted = statement<{ organization: OrganizationId }>()((db, p) =>
  db
    .selectFrom('schedules')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('organization_id', '=', p('organization')),
)

const remove = statement<{ id: ScheduleId }>()((db, p) => db.deleteFrom('schedules').where('id', '=', p('id')))

const removeHistory = statement<{ id: ScheduleId }>()((db, p) =>
  db.deleteFrom('schedule_instants').where('schedule_id', '=', p('id')),
)
