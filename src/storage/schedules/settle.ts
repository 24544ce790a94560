import { type SqlBool, sql } from 'kysely'
import { defined } from '../../core/defined.ts'
import { dayStart } from '../../core/heartbeat.ts'
import type { OrganizationId, RunId, ScheduleId } from '../../core/id.ts'
import type { ScheduleRecord } from '../../core/invariants/schedules.ts'
import type { Schedule, SettledInstant } from '../../core/schedule.ts'
import type { Settled, Settlement } from '../../ports/schedule-store.ts'
import { insertInto, rowById } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { INSTANT_COLUMNS, instantOf, instantRowOf, scheduleOf } from '../rows/schedule-row.ts'
import { openRun } from '../runs/run-intake.ts'
import { countFired, findHoldBack, heartbeatRecords } from './heartbeat.ts'

/** The outcomes, the runs and the next instant are one transaction: no instant is lost, and none fires twice. */
export async function settle(db: Executor, settlement: Settlement): Promise<Settled> {
  const { schedule: key, seen, nextAt, others, firings, at, spending, refusalOf } = settlement
  const row = await db.get(byId.locked, { organization: key.organizationId, id: key.id })
  const schedule = row && scheduleOf(row)
  const isCurrent = seen === 'manual' || (schedule?.nextAt === seen && !schedule.isPaused)
  if (!schedule || !isCurrent) return { type: 'moved' }

  const instants: SettledInstant[] = others.map((one) => ({ ...one, settledAt: at }))
  let lastRun = schedule.lastRun
  for (const firing of firings) {
    const { instant, open } = firing
    const { id, heartbeat } = schedule
    const reason = heartbeat && spending && (await findHoldBack(db, firing, { id, heartbeat, spending, at }))
    if (reason) {
      const held = { instant, lastInstant: instant, count: 1, outcome: 'skipped' as const, reason, isManual: false }
      instants.push({ ...held, settledAt: at })
      continue
    }
    const opened = await openRun(db, open)
    if (opened.type === 'repeated') return { type: 'repeated', runId: opened.runId }
    const isFired = opened.type === 'opened'
    if (isFired) lastRun = opened.run.id
    instants.push({
      instant,
      lastInstant: instant,
      count: 1,
      outcome: isFired ? 'fired' : 'refused',
      settledAt: at,
      isManual: seen === 'manual',
      ...defined({
        runId: isFired ? opened.run.id : undefined,
        reason: isFired ? undefined : refusalOf(opened),
      }),
    })
  }
  for (const one of instants)
    await db.run(insert, { ...instantRowOf(one), schedule_id: key.id, organization_id: key.organizationId })
  const moved = seen === 'manual' ? schedule.nextAt : nextAt
  const pause = pauseAfter(schedule, moved)
  await db.run(move, {
    id: key.id,
    next: moved ?? null,
    run: lastRun ?? null,
    pause: pause ? JSON.stringify(pause) : null,
  })
  return { type: 'settled', instants }
}

/** A pause is forgotten once all its instants are settled. */
const pauseAfter = ({ pause }: Schedule, nextAt: number | undefined): Schedule['pause'] =>
  pause?.until !== undefined && (nextAt === undefined || nextAt >= pause.until) ? undefined : pause

/** After a commit of unknown outcome: what stands at the first instant of this settlement. */
export async function findSettled(
  db: Executor,
  { schedule, firings, others, seen }: Settlement,
): Promise<Settled | undefined> {
  await db.get(byId.locked, { organization: schedule.organizationId, id: schedule.id })
  const instants: SettledInstant[] = []
  for (const { instant } of [...others, ...firings]) {
    const row = await db.get(at, { id: schedule.id, manual: seen === 'manual' ? 1 : 0, instant })
    if (row) instants.push(instantOf(row))
  }
  return instants.length > 0 ? { type: 'settled', instants } : undefined
}

type HistoryPage = { limit: number; before?: number }

export async function historyOf(
  db: Executor,
  { organizationId, id }: { organizationId: OrganizationId; id: ScheduleId },
  { limit, before = Number.MAX_SAFE_INTEGER }: HistoryPage,
): Promise<SettledInstant[]> {
  const rows = await db.all(history, { organization: organizationId, id, before, limit })
  return rows.map(instantOf)
}

/** For checks: a page in order of time, and the runs that its rows name. */
export async function historyPage(
  db: Executor,
  { schedule: { id, heartbeat }, after, limit }: { schedule: Schedule; after: number; limit: number },
): Promise<Pick<ScheduleRecord, 'instants' | 'runs' | 'beats' | 'firedThatDay'>> {
  const rows = await db.all(historyAfter, { id, after, limit })
  const runs = new Set(rows.flatMap(({ found }) => (found === null ? [] : [found])))
  const page = { instants: rows.map(({ found: _, ...row }) => instantOf(row)), runs }
  const [first, last] = [rows[0]?.instant, rows.at(-1)?.instant]
  if (!heartbeat || first === undefined || last === undefined) return page
  const beats = await heartbeatRecords(db, { id, from: first, to: last })
  const from = dayStart(beats[0]?.instant ?? first, heartbeat.timezone)
  return { ...page, beats, firedThatDay: await countFired(db, { id, from, to: first, isManual: 0 }) }
}

const byId = rowById('schedules')

const insert = insertInto('schedule_instants', ['schedule_id', 'organization_id', ...INSTANT_COLUMNS])

const move = statement<{ id: ScheduleId; next: number | null; run: RunId | null; pause: string | null }>()((db, p) =>
  db
    .updateTable('schedules')
    .set({ next_at: p('next'), last_run: p('run'), pause: p('pause') })
    .where('id', '=', p('id')),
)

const at = statement<{ id: ScheduleId; manual: number; instant: number }>()((db, p) =>
  db
    .selectFrom('schedule_instants')
    .select(INSTANT_COLUMNS)
    .where('schedule_id', '=', p('id'))
    .where('is_manual', '=', p('manual'))
    .where('instant', '=', p('instant')),
)

const history = statement<{ organization: OrganizationId; id: ScheduleId; before: number; limit: number }>()((db, p) =>
  db
    .selectFrom('schedule_instants')
    .select(INSTANT_COLUMNS)
    .where('schedule_id', '=', p('id'))
    .where('organization_id', '=', p('organization'))
    .where('instant', '<', p('before'))
    .orderBy('instant', 'desc')
    .limit(p('limit')),
)

const historyAfter = statement<{ id: ScheduleId; after: number; limit: number }>()((db, p) =>
  db
    .selectFrom('schedule_instants')
    .select(INSTANT_COLUMNS)
    .select(sql<RunId | null>`(select id from runs where runs.id = schedule_instants.run_id)`.as('found'))
    .where('schedule_id', '=', p('id'))
    .where('is_manual', '=', sql.lit(0))
    .where('instant', '>', p('after'))
    .orderBy('instant')
    .limit(p('limit')),
)

/** Of rows in order of time, the oldest: what is left has no gap. */
export const removeOldHistory = statement<{ before: number; limit: number }>()((db, p) =>
  db.deleteFrom('schedule_instants').where(
    sql<SqlBool>`(schedule_id, is_manual, instant) in (select schedule_id, is_manual, instant from schedule_instants
        where settled_at < ${p('before')} order by settled_at limit ${p('limit')} + 0)`,
  ),
)
