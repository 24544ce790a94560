import type { ConversationId } from '../../core/id.ts'
import { checkRun } from '../../core/invariants/all.ts'
import type { RunRecord } from '../../core/invariants/record.ts'
import { findRepairPosition, type LostMessage, lostMessages, planRowRepair, type RowRepair } from '../../core/repair.ts'
import { isOver, isSettled, phaseOf, type Run } from '../../core/run.ts'
import { cancelRun } from '../../engine/cancel-run.ts'
import { finishStream } from '../../engine/finish-stream.ts'
import { StorageError } from '../../ports/storage-error.ts'
import type { ServiceContext } from '../service-context.ts'

/** A repair, described for a person. */
export type Repair = { where: string; did: string }

const PAGE = 1_000

/**
 * Repairs what follows from the event log without doubt and reports each repair; the rest is left for `checkStore` to
 * report. On SQLite the caller owns the home, so nothing else writes; on PostgreSQL every write is guarded.
 */
export async function repairStore(context: ServiceContext): Promise<Repair[]> {
  await expireDeadWorkers(context)
  return [
    ...(await raisePositions(context)),
    ...(await repairRuns(context)),
    ...(await expireApprovals(context)),
    ...(await endStreams(context)),
  ]
}

/** The owner of a home has proved every other worker dead: registering a worker records that, and it leaves at once. */
async function expireDeadWorkers({ deps: { store, randomness } }: ServiceContext): Promise<void> {
  const workerId = `worker-${randomness.uuid()}` as const
  await store.workers.beat(workerId, 1)
  await store.workers.leave(workerId)
}

async function raisePositions({ deps, snapshot }: ServiceContext): Promise<Repair[]> {
  const repairs: Repair[] = []
  for await (const { conversation, messages, isEnd = true } of snapshot.conversations()) {
    if (!isEnd) continue
    const { id, nextPosition } = conversation
    const to = (messages.at(-1)?.position ?? -1) + 1
    if (to <= nextPosition || !(await deps.store.repairs.raiseNextPosition(id, to))) continue
    repairs.push({ where: id, did: `next_position was ${nextPosition} and is now ${to}` })
  }
  return repairs
}

async function repairRuns(context: ServiceContext): Promise<Repair[]> {
  const repairs: Repair[] = []
  const lost = new Map<ConversationId, { run: Run; lost: LostMessage }[]>()
  for await (const record of context.snapshot.runs()) {
    repairs.push(...(await repairRow(record, context)))
    const { run } = record
    for (const one of lostMessages(record))
      lost.set(run.conversationId, [...(lost.get(run.conversationId) ?? []), { run, lost: one }])
  }
  // After all runs: restoring needs the number of messages that each conversation has lost.
  for (const found of lost.values()) repairs.push(...(await restoreMessage(found, context)))
  return repairs
}

async function repairRow(record: RunRecord, { deps: { store } }: ServiceContext): Promise<Repair[]> {
  const plan = planRowRepair(record)
  if (!plan || !(await isSafeRepair(record, plan, store.messages))) return []
  if (!(await store.repairs.rewriteRun(record.run, plan))) return []
  return [{ where: record.run.id, did: `${plan.differences.join('; ')}: the row was rebuilt from its log` }]
}

/** A run must not be revived after later runs have added messages: its results would be in the wrong position. */
async function isSafeRepair(
  { run, messages: own }: RunRecord,
  { row }: RowRepair,
  messages: ServiceContext['deps']['store']['messages'],
): Promise<boolean> {
  const isRevived = !isSettled(row) && phaseOf(row) !== phaseOf(run)
  const hasSpoken = own.length > 0 || run.continues !== undefined
  if (!isRevived || !hasSpoken) return true
  const [newest] = await messages.list(run.organizationId, run.conversationId, {
    limit: 1,
    take: 'newest',
    cleared: 'too',
  })
  return newest === undefined || newest.runId === run.id || newest.runId === run.continues
}

async function restoreMessage(
  found: { run: Run; lost: LostMessage }[],
  { deps: { store } }: ServiceContext,
): Promise<Repair[]> {
  const [{ run, lost }] = found as [(typeof found)[0]]
  const position = findRepairPosition(
    found.map((one) => one.lost),
    await findFreePositions(run, store),
  )
  if (position === undefined || !(await store.repairs.insertMessage(run, lost.message, position))) return []
  return [{ where: run.conversationId, did: `${lost.message.id} was missing; it was restored at position ${position}` }]
}

/** The first two free positions of a conversation: the repair needs to know only whether there is more than one. */
async function findFreePositions(
  { organizationId, conversationId }: Run,
  { conversations, messages }: ServiceContext['deps']['store'],
): Promise<number[]> {
  const end = (await conversations.get(organizationId, conversationId))?.nextPosition ?? 0
  const free: number[] = []
  for (let expected = 0; expected < end && free.length < 2; ) {
    const page = await messages.list(organizationId, conversationId, {
      limit: PAGE,
      after: expected - 1,
      take: 'oldest',
      cleared: 'too',
    })
    for (const { position } of page) {
      for (; expected < position && free.length < 2; expected++) free.push(expected)
      expected = position + 1
    }
    if (page.length < PAGE) for (; expected < end && free.length < 2; expected++) free.push(expected)
  }
  return free
}

/** Only without a live engine, which expires approvals itself. */
async function expireApprovals({ deps, snapshot }: ServiceContext): Promise<Repair[]> {
  const { store, clock } = deps
  if ((await snapshot.liveWorkers()).size > 0) return []
  const repairs: Repair[] = []
  for (const run of await store.runs.expired(clock.now(), PAGE)) {
    if (!(await isSound(run, store))) continue
    await cancelRun(
      { organizationId: run.organizationId, runId: run.id },
      { cause: 'expiry' },
      { ...deps, notify: () => {} },
    )
    repairs.push({ where: run.id, did: 'its approval had expired; it was cancelled and its calls were denied' })
  }
  return repairs
}

/** Nothing is appended to a run with violations. */
async function isSound(run: Run, { events, messages }: ServiceContext['deps']['store']): Promise<boolean> {
  const record = { run, events: await events.read(run.id, 0), messages: await messages.ofRun(run.id) }
  return checkRun(record).length === 0
}

async function endStreams({ deps }: ServiceContext): Promise<Repair[]> {
  const repairs: Repair[] = []
  for (const runId of await deps.streams.unended(PAGE)) {
    const run = await deps.store.runs.getAnywhere(runId)
    if (!run || !isOver(run)) continue
    try {
      await finishStream(runId, deps)
      repairs.push({ where: runId, did: 'the run had ended but its stream had not; its stream was ended' })
    } catch (fault) {
      if (fault instanceof StorageError) throw fault
      // Its log cannot be rendered: `checkStore` reports what is wrong with it.
    }
  }
  return repairs
}
