import { sql } from 'kysely'
import { defined } from '../../core/defined.ts'
import { dayStart, type Heartbeat, type HeartbeatSpending, isOfPerson, whyHeldBack } from '../../core/heartbeat.ts'
import type { ConversationId, ScheduleId } from '../../core/id.ts'
import type { HeartbeatRecord } from '../../core/invariants/schedules.ts'
import type { ModelUsage } from '../../ports/model-usage.ts'
import type { Firing } from '../../ports/schedule-store.ts'
import { takeOpeningLock } from '../conversations/conversations.ts'
import { type Executor, statement } from '../database/statement.ts'
import { USAGE_COLUMNS, usageOf } from '../runs/run-usage.ts'

type Beat = { id: ScheduleId; heartbeat: Heartbeat; spending: HeartbeatSpending; at: number }

/**
 * Why a heartbeat does not fire. Every opener of runs takes the same lock, so no person begins to talk between this and
 * the run of the heartbeat.
 */
export async function findHoldBack(
  db: Executor,
  { instant, open: { run } }: Firing,
  { id, heartbeat, spending, at }: Beat,
): Promise<string | undefined> {
  const conversation = run.conversationId
  await db.get(takeOpeningLock, { organization: run.organizationId, id: conversation })
  const active = await db.get(activeIn, { conversation })
  const talkedAt = active ? undefined : await lastTalk(db, conversation, at - heartbeat.restMs)
  const turns = await countFired(db, {
    id,
    from: dayStart(instant, heartbeat.timezone),
    to: instant,
    isManual: 1,
  })
  return whyHeldBack(heartbeat, { turns, ...defined({ active: active?.id, talkedAt }) }, spending)
}

const PAGE = 50

/** When a person talked last, if that was after `since`. Reads the runs of that time and one more. */
async function lastTalk(db: Executor, conversation: ConversationId, since: number): Promise<number | undefined> {
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const rows = await db.all(newestBefore, { conversation, before, limit: PAGE })
    for (const row of rows) {
      const at = row.completed_at ?? row.created_at
      if (at <= since) return undefined
      if (isTalk(row)) return at
    }
    if (rows.length < PAGE) return undefined
    before = rows.at(-1)!.number
  }
}

/** A message that a person steers into the run of a schedule makes it a talk. */
const isTalk = ({ metadata, joined }: { metadata: string; joined: number }): boolean =>
  Number(joined) > 0 || isOfPerson(JSON.parse(metadata))

type Counted = { id: ScheduleId; from: number; to: number; isManual: 0 | 1 }

/** `isManual` 1: also those that a person asked for. */
export const countFired = async (db: Executor, counted: Counted): Promise<number> =>
  Number((await db.get(fired, counted))?.count ?? 0)

/** The tokens of the runs that it fired, and of those that continued them after an approval. */
export const usedBetween = async (
  db: Executor,
  values: { id: ScheduleId; from: number; to: number },
): Promise<ModelUsage[]> => usageOf(await db.all(used, values))

/** For checks: what was before each run of a heartbeat in its conversation. */
export async function heartbeatRecords(
  db: Executor,
  page: { id: ScheduleId; from: number; to: number },
): Promise<HeartbeatRecord[]> {
  const rows = await db.all(beats, page)
  return rows.map(({ instant, settled_at, metadata, joined, completed_at, created_at }) => ({
    instant,
    settledAt: settled_at,
    ...defined({
      talkedAt:
        metadata !== null && isTalk({ metadata, joined }) ? (completed_at ?? created_at ?? undefined) : undefined,
    }),
  }))
}

const activeIn = statement<{ conversation: ConversationId }>()((db, p) =>
  db
    .selectFrom('runs')
    .select('id')
    .where('conversation_id', '=', p('conversation'))
    // A run that waits for an approval refuses the instant, like that of any schedule.
    .where(sql<boolean>`status in ('created', 'running')`)
    .orderBy('number')
    .limit(sql.lit(1)),
)

const STEERED = sql<number>`(select count(*) from steers where steers.run_id = runs.id)`

const newestBefore = statement<{ conversation: ConversationId; before: number; limit: number }>()((db, p) =>
  db
    .selectFrom('runs')
    .select(['number', 'metadata', 'created_at', 'completed_at', STEERED.as('joined')])
    .where('conversation_id', '=', p('conversation'))
    .where('number', '<', p('before'))
    .orderBy('number', 'desc')
    .limit(p('limit')),
)

const fired = statement<Counted>()((db, p) =>
  db
    .selectFrom('schedule_instants')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('schedule_id', '=', p('id'))
    .where('instant', '>=', p('from'))
    .where('instant', '<', p('to'))
    .where('is_manual', '<=', p('isManual'))
    .where('outcome', '=', sql.lit('fired' as const)),
)

const used = statement<{ id: ScheduleId; from: number; to: number }>()((db, p) =>
  db
    .withRecursive('chain(id, number)', (recursive) =>
      recursive
        .selectFrom('schedule_instants')
        .innerJoin('runs', 'runs.id', 'schedule_instants.run_id')
        .select(['runs.id as id', 'runs.number as number'])
        .where('schedule_instants.schedule_id', '=', p('id'))
        .where('schedule_instants.instant', '>=', p('from'))
        .where('schedule_instants.instant', '<', p('to'))
        .unionAll(
          recursive
            .selectFrom('chain')
            .innerJoin('runs', 'runs.continues', 'chain.id')
            .select(['runs.id as id', 'runs.number as number']),
        ),
    )
    .selectFrom('steps')
    .innerJoin('chain', 'chain.number', 'steps.run_number')
    .select(USAGE_COLUMNS)
    .groupBy('steps.model_handle')
    .orderBy('steps.model_handle'),
)

const beats = statement<{ id: ScheduleId; from: number; to: number }>()((db, p) =>
  db
    .selectFrom('schedule_instants')
    .innerJoin('runs as beat', 'beat.id', 'schedule_instants.run_id')
    .leftJoin('runs', (join) =>
      join.on(
        sql<boolean>`runs.number = (select max(x.number) from runs x
          where x.conversation_id = beat.conversation_id and x.number < beat.number)`,
      ),
    )
    .select([
      'schedule_instants.instant',
      'schedule_instants.settled_at',
      'runs.metadata',
      'runs.created_at',
      'runs.completed_at',
      STEERED.as('joined'),
    ])
    .where('schedule_instants.schedule_id', '=', p('id'))
    .where('schedule_instants.is_manual', '=', sql.lit(0))
    .where('schedule_instants.instant', '>=', p('from'))
    .where('schedule_instants.instant', '<=', p('to'))
    .orderBy('schedule_instants.instant'),
)
