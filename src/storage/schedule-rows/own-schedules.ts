import { type SqlBool, sql } from 'kysely'
import type { AgentId, OrganizationId, ScheduleId } from '../../core/id.ts'
import type { Schedule } from '../../core/schedule.ts'
import type { ToolWrite } from '../../core/tool-write.ts'
import { rowById } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { scheduleOf } from '../rows/schedule-row.ts'
import { createSchedule, deleteSchedule } from './create-delete.ts'

/** Ended schedules that an agent made and that are kept with their history. */
const ENDED_KEPT = 50

/** Behind the lock of the agent. False: another call has taken the last place. */
export async function createOwn(
  db: Executor,
  { schedule, limits }: Extract<ToolWrite, { type: 'create-schedule' }>,
): Promise<boolean> {
  if ((await createSchedule(db, schedule, limits.ofOrganization)) !== 'created') return false
  const own = await db.all(ofAgent, { agent: schedule.agentId })
  if (own.filter(({ next_at }) => next_at !== null).length > limits.own) return false
  const ended = own.filter(({ next_at }) => next_at === null)
  for (const { id } of ended.slice(0, -ENDED_KEPT)) await deleteSchedule(db, id)
  return true
}

/** False: it is gone, or this agent did not make it. */
export async function deleteOwn(
  db: Executor,
  { organizationId, agentId, id }: { organizationId: OrganizationId; agentId: AgentId; id: ScheduleId },
): Promise<boolean> {
  const row = await db.get(byId.locked, { organization: organizationId, id })
  const schedule: Schedule | undefined = row && scheduleOf(row)
  if (schedule?.agentId !== agentId || !schedule.byRun) return false
  await deleteSchedule(db, id)
  return true
}

const byId = rowById('schedules')

const ofAgent = statement<{ agent: AgentId }>()((db, p) =>
  db
    .selectFrom('schedules')
    .select(['id', 'next_at'])
    .where('agent_id', '=', p('agent'))
    .where(sql<SqlBool>`body like '%"byRun":%'`)
    .orderBy('number'),
)
