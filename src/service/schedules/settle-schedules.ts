import { defined } from '../../core/defined.ts'
import { dayStart, type HeartbeatSpending, silenceInstruction } from '../../core/heartbeat.ts'
import type { RunId } from '../../core/id.ts'
import { planSettlement, type Schedule, type SettledInstant } from '../../core/schedule.ts'
import type { Firing, Settlement } from '../../ports/schedule-store.ts'
import type { OpenedRun } from '../../ports/store.ts'
import { newOpening } from '../messages/send-message.ts'
import { overQuotaProblem, queueQuotaOf } from '../messages/turn-quota.ts'
import { roomRefusal } from '../people/storage-quota.ts'
import { costOfUsage } from '../providers/cost-of-usage.ts'
import type { ServiceContext } from '../service-context.ts'

const AT_ONCE = 100

/**
 * Settles every instant that is due, of all organizations: each fires or gets the reason why not. Any number of servers
 * may do this at once. Returns how many schedules it moved.
 */
export async function settleSchedules(context: ServiceContext, signal?: AbortSignal): Promise<number> {
  const { store, clock, report } = context.deps
  const now = clock.now()
  let moved = 0
  for (let after = 0; ; ) {
    const page = await store.schedules.due(now, { after, limit: AT_ONCE })
    // Their commits are shared.
    await Promise.all(
      page.map(async ({ schedule }) => {
        if (signal?.aborted) return
        try {
          if (await settleDue(schedule, context)) moved += 1
        } catch (fault) {
          // The others must not wait for this one; the next sweep tries it again.
          report(fault, `firing ${schedule.id}`)
        }
      }),
    )
    if (page.length < AT_ONCE || signal?.aborted) return moved
    after = page.at(-1)!.number
  }
}

async function settleDue(schedule: Schedule, context: ServiceContext): Promise<boolean> {
  const now = context.deps.clock.now()
  const activeRun = await findActiveRun(schedule, context)
  const { fire, others, nextAt } = planSettlement(schedule, { now, activeRun })
  if (schedule.nextAt === undefined || fire.length + others.length === 0) return false
  const settled = await settle(
    schedule,
    {
      seen: schedule.nextAt,
      others,
      instants: fire,
      at: now,
      ...defined({ nextAt, spending: await spendingOf(schedule, fire[0], context) }),
    },
    context,
  )
  return settled !== undefined
}

/** A request with the same key is one run. Undefined: the schedule is deleted. */
export async function fireNow(
  schedule: Schedule,
  { key }: { key?: string },
  context: ServiceContext,
): Promise<Pick<SettledInstant, 'runId' | 'reason'> | undefined> {
  const { clock, store } = context.deps
  // Two requests may come in the same millisecond.
  const [newest] = await store.schedules.history(schedule.organizationId, schedule.id, { limit: 1 })
  const at = clock.now()
  const instant = newest?.isManual && newest.instant >= at ? newest.instant + 1 : at
  const settled = await settle(
    schedule,
    { seen: 'manual', others: [], instants: [instant], at, ...defined({ key }) },
    context,
  )
  return settled?.[0]
}

async function findActiveRun({ coalesce, lastRun }: Schedule, { deps }: ServiceContext): Promise<RunId | undefined> {
  const run = coalesce && lastRun ? await deps.store.runs.getAnywhere(lastRun) : undefined
  return run && (run.status === 'created' || run.status === 'running') ? run.id : undefined
}

/** What the runs of a heartbeat have cost on the day of this instant. The run of an earlier one has ended. */
async function spendingOf(
  { id, heartbeat }: Schedule,
  instant: number | undefined,
  context: ServiceContext,
): Promise<HeartbeatSpending | undefined> {
  if (!heartbeat || instant === undefined) return undefined
  const spending: HeartbeatSpending = { dollars: 0 }
  if (heartbeat.dollarsPerDay === undefined) return spending
  const time = { from: dayStart(instant, heartbeat.timezone), to: instant }
  for (const used of await context.deps.store.schedules.usedBetween(id, time)) {
    const cost = costOfUsage(used, context)
    if (cost === undefined) spending.unpriced = used.target
    else spending.dollars += cost
  }
  return spending
}

type Decided = Pick<Settlement, 'seen' | 'others' | 'nextAt' | 'at' | 'spending'> & { instants: number[]; key?: string }

async function settle(
  schedule: Schedule,
  { instants, others, key, ...decided }: Decided,
  context: ServiceContext,
): Promise<Pick<SettledInstant, 'runId' | 'reason'>[] | undefined> {
  const { organizationId, createdBy, callback } = schedule
  const own: ServiceContext = {
    ...context,
    organizationId,
    caller: { ...createdBy, organizationId, scope: 'agent' },
  }
  const { firings, refused } = await firingsOf(
    schedule,
    { instants, isManual: decided.seen === 'manual', ...defined({ key }) },
    own,
  )
  const settled = await context.deps.store.schedules.settle({
    ...decided,
    schedule,
    others: [...others, ...refused],
    firings,
    refusalOf,
  })
  if (settled.type === 'moved') return undefined
  if (settled.type === 'repeated') return [{ runId: settled.runId }]
  const runs = settled.instants.flatMap(({ runId }) => runId ?? [])
  if (runs.length > 0) context.engine?.dispatcher.wake('queue')
  if (callback) for (const runId of runs) context.callbacks.expect(runId, organizationId)
  return settled.instants
}

type Wanted = { instants: number[]; isManual: boolean; key?: string }

async function firingsOf(
  schedule: Schedule,
  { instants, isManual, key }: Wanted,
  context: ServiceContext,
): Promise<{ firings: Firing[]; refused: Settlement['others'] }> {
  if (instants.length === 0) return { firings: [], refused: [] }
  const { store } = context.deps
  const { organizationId, agentId, conversationId, onGuarded, model, maxSteps, callback, heartbeat } = schedule
  const [agent, conversation] = await Promise.all([
    store.agents.get(organizationId, agentId),
    conversationId
      ? store.conversations.get(organizationId, conversationId)
      : store.conversations.defaultOf(organizationId, agentId),
  ])
  const reason = !agent
    ? `The agent ${agentId} was deleted.`
    : conversation
      ? await roomRefusal(schedule.inputs, context)
      : `The conversation ${conversationId} was deleted.`
  if (!agent || !conversation || reason !== undefined) {
    const refused = instants.map((instant) => ({
      instant,
      lastInstant: instant,
      count: 1,
      outcome: 'refused' as const,
      reason: reason ?? '',
      isManual,
    }))
    return { firings: [], refused }
  }
  const quota = await queueQuotaOf(context)
  const firings = instants.map((instant): Firing => {
    const opening = newOpening(
      {
        agent,
        conversationId: conversation.id,
        conversation,
        inputs: inputsOf(schedule),
        onGuarded,
        background: true,
        metadata: {
          run_type: heartbeat ? 'heartbeat' : 'schedule',
          schedule_id: schedule.id,
          scheduled_at: new Date(instant).toISOString(),
          on_guarded: onGuarded,
        },
        ...defined({
          model,
          maxSteps,
          callback,
          silence: heartbeat?.silence,
          idempotencyKey: key && `${schedule.id} ${key}`,
        }),
      },
      context,
    )
    return { instant, open: { ...opening, policy: 'queue', ...defined({ quota }) } }
  })
  return { firings, refused: [] }
}

/** A heartbeat says how to say nothing. */
function inputsOf({ inputs, heartbeat }: Schedule): Schedule['inputs'] {
  const last = inputs.at(-1)
  if (!heartbeat || !last) return inputs
  const text = silenceInstruction(heartbeat.silence)
  return [...inputs.slice(0, -1), { ...last, content: [...last.content, { type: 'text', text }] }]
}

/** Why a run was not opened, for the history of a schedule and the log of a hook. */
export function refusalOf(opened: OpenedRun): string {
  switch (opened.type) {
    case 'no-conversation':
      return 'The conversation was deleted.'
    case 'over-quota':
      return overQuotaProblem(opened).message
    case 'refused':
      return REFUSALS[opened.refusal](opened.runId)
    case 'opened':
    case 'steered':
    case 'repeated':
    case 'key-conflict':
    case 'otid-conflict':
    case 'moved-on':
      throw new Error(`a run without a request was ${opened.type}`)
  }
}

const REFUSALS: Record<Extract<OpenedRun, { type: 'refused' }>['refusal'], (runId: RunId | undefined) => string> = {
  busy: () => 'The conversation is busy.',
  'queue-full': () => 'Too many messages wait in the conversation.',
  'pending-approval': (runId) => `The conversation waits for an approval in ${runId}.`,
}
