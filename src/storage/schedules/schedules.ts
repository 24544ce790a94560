import { type SqlBool, sql } from 'kysely'
import { defined } from '../../core/defined.ts'
import type { AgentId, OrganizationId, ScheduleId } from '../../core/id.ts'
import type { Schedule } from '../../core/schedule.ts'
import type { ScheduleStore } from '../../ports/schedule-store.ts'
import type { Database } from '../database/database.ts'
import { type Bounds, inBounds, readPage } from '../database/list-page.ts'
import { rowById } from '../database/row-statements.ts'
import { statement } from '../database/statement.ts'
import { scheduleOf, scheduleRowOf } from '../rows/schedule-row.ts'
import { countSchedules, createSchedule, deleteSchedule } from '../schedule-rows/create-delete.ts'
import { usedBetween } from './heartbeat.ts'
import { findSettled, historyOf, removeOldHistory, settle } from './settle.ts'

export function scheduleStore({ read, write }: Database): ScheduleStore {
  return {
    create: (schedule, limit) =>
      write({
        key: schedule.id,
        work: (db) => createSchedule(db, schedule, limit),
        findCommitted: async (db) => ((await db.get(byId.plain, keyOf(schedule))) ? ('created' as const) : undefined),
      }),

    get: (organizationId, id) =>
      read(async (db) => {
        const row = await db.get(byId.plain, { organization: organizationId, id })
        return row && scheduleOf(row)
      }),

    list: (organization, { agentId }, page) =>
      read((db) =>
        readPage(page, {
          find: (id) => db.get(positionOf, { organization, id: id as ScheduleId }),
          read: (direction, bounds) =>
            db.all(direction === 'up' ? lists.up : lists.down, { organization, agent: agentId ?? '', ...bounds }),
          objectOf: scheduleOf,
        }),
      ),

    count: (organization) => read((db) => countSchedules(db, organization)),

    pause: (organizationId, id, change) =>
      write({
        key: id,
        async work(db) {
          const row = await db.get(byId.locked, { organization: organizationId, id })
          if (!row) return undefined
          const schedule = withPause(scheduleOf(row), change)
          const { is_paused, pause } = scheduleRowOf(schedule)
          await db.run(setPause, { id, is_paused, pause })
          return schedule
        },
        // Repeating it is harmless.
        findCommitted: () => undefined,
      }),

    delete: (organizationId, id) =>
      write({
        key: id,
        async work(db) {
          const row = await db.get(byId.locked, { organization: organizationId, id })
          if (!row) return false
          await deleteSchedule(db, id)
          return true
        },
      }),

    prune: (before, limit) =>
      write({ key: '~', work: (db) => db.run(removeOldHistory, { before, limit }), findCommitted: () => undefined }),

    nextDue: () => read(async (db) => (await db.get(firstDue, {}))?.next_at ?? undefined),

    due: (now, { after, limit }) =>
      read(async (db) => {
        const rows = await db.all(dueAfter, { now, after, limit })
        return rows.map((row) => ({ number: row.number, schedule: scheduleOf(row) }))
      }),

    settle: (settlement) =>
      write({
        // By conversation, like every other opener of runs.
        key: settlement.firings[0]?.open.run.conversationId ?? settlement.schedule.id,
        work: (db) => settle(db, settlement),
        announce: settlement.firings.length > 0,
        findCommitted: (db) => findSettled(db, settlement),
      }),

    usedBetween: (id, time) => read((db) => usedBetween(db, { id, from: time.from, to: time.to })),

    history: (organizationId, id, page) => read((db) => historyOf(db, { organizationId, id }, page)),
  }
}

/** A pause that begins before the last one was settled joins it. */
function withPause(schedule: Schedule, { isPaused, at }: { isPaused: boolean; at: number }): Schedule {
  const { pause, ...rest } = schedule
  if (isPaused === schedule.isPaused) return schedule
  return { ...rest, isPaused, pause: { from: pause?.from ?? at, ...defined({ until: isPaused ? undefined : at }) } }
}

const keyOf = ({ organizationId, id }: Pick<Schedule, 'organizationId' | 'id'>) => ({
  organization: organizationId,
  id,
})

const byId = rowById('schedules')

const positionOf = statement<{ organization: OrganizationId; id: ScheduleId }>()((db, p) =>
  db
    .selectFrom('schedules')
    .select(['number', 'number as key'])
    .where('id', '=', p('id'))
    .where('organization_id', '=', p('organization')),
)

const list = (direction: 'asc' | 'desc') =>
  statement<Bounds & { organization: OrganizationId; agent: AgentId | '' }>()((db, p) =>
    db
      .selectFrom('schedules')
      .selectAll()
      .where('organization_id', '=', p('organization'))
      .where(sql<SqlBool>`(cast(${p('agent')} as text) = '' or agent_id = ${p('agent')})`)
      .where(inBounds(sql<number>`number`, p))
      .orderBy('number', direction)
      .limit(p('limit')),
  )

const lists = { up: list('asc'), down: list('desc') }

const setPause = statement<{ id: ScheduleId; is_paused: number; pause: string | null }>()((db, p) =>
  db
    .updateTable('schedules')
    .set({ is_paused: p('is_paused'), pause: p('pause') })
    .where('id', '=', p('id')),
)

/** Must match the condition of the partial index, or SQLite would not use it. */
const IS_WAITING = sql<SqlBool>`is_paused = 0 and next_at is not null`

const firstDue = statement<Record<never, never>>()((db) =>
  db.selectFrom('schedules').select('next_at').where(IS_WAITING).orderBy('next_at').limit(sql.lit(1)),
)

const dueAfter = statement<{ now: number; after: number; limit: number }>()((db, p) =>
  db
    .selectFrom('schedules')
    .selectAll()
    .where(IS_WAITING)
    .where('next_at', '<=', p('now'))
    .where('number', '>', p('after'))
    .orderBy('number')
    .limit(p('limit')),
)
