import type { RunId } from '../../../src/core/id.ts'
import { isSettled, type Run } from '../../../src/core/run.ts'
import { answerApproval } from '../../../src/service/approvals/answer-approval.ts'
import { listApprovals } from '../../../src/service/approvals/approvals.ts'
import { changeContext } from '../../../src/service/conversations/change-context.ts'
import { sendMessage } from '../../../src/service/messages/send-message.ts'
import { cancelRun } from '../../../src/service/runs/runs.ts'
import { watchRun } from '../../../src/service/runs/watch-run.ts'
import { ask, type SimulatedClientDeps } from './clients.ts'

/** Maximum duration of a cancel without faults; the slow tool alone takes seconds. */
const CANCEL_MS = 1_500
/** Maximum duration of any operation without faults. */
const DONE_MS = 30_000

type CalmScenario = { key: string; deps: SimulatedClientDeps }

/**
 * After the faults: nothing fails and no run is open, so every result must be exact. Leftovers of the day (a lost
 * lease, a full queue, a stale cache) must have no effect.
 */
export async function runCalmPhase(deps: SimulatedClientDeps): Promise<void> {
  const { kernel, name } = deps
  const plans = [
    plainTurn,
    cancelledTurn,
    queueOfThree,
    approvedTurn,
    steeredTurn,
    cancelledInQueue,
    cancelledWaiting,
    compactedTurn,
  ]
  for (let turn = 0; turn < 2; turn++) await kernel.pick(plans)({ key: `${name}-evening-${turn}`, deps })
}

async function plainTurn({ key, deps }: CalmScenario): Promise<void> {
  const runId = await say(`${key} look+look once again`, deps)
  if (!runId) return
  const reading = expectStream(runId, deps)
  await expectEnd(runId, deps, { stopReason: 'end_turn', within: DONE_MS })
  await reading
  const again = await say(`${key} look+look once again`, deps)
  if (again !== runId) deps.checker.violate(`I8 ${key} was sent again and opened ${again} besides ${runId}`)
}

async function cancelledTurn({ key, deps }: CalmScenario): Promise<void> {
  const runId = await say(`${key} slow once`, deps)
  if (!runId) return
  await deps.kernel.delay(deps.kernel.between(50, 1_000))
  await cancel(runId, deps)
  await expectEnd(runId, deps, { stopReason: 'cancelled', within: CANCEL_MS })
}

async function queueOfThree({ key, deps }: CalmScenario): Promise<void> {
  const runs: (RunId | undefined)[] = []
  for (const number of [1, 2, 3]) runs.push(await say(`${key}-${number} look`, deps))
  for (const runId of runs) if (runId) await expectEnd(runId, deps, { stopReason: 'end_turn', within: DONE_MS })
}

async function approvedTurn({ key, deps }: CalmScenario): Promise<void> {
  const runId = await say(`${key} risky+look`, deps)
  if (!runId || !(await expectWaiting(runId, deps))) return
  const next = await answerAll(runId, deps)
  if (next) await expectEnd(next, deps, { stopReason: 'end_turn', within: DONE_MS })
}

async function steeredTurn({ key, deps }: CalmScenario): Promise<void> {
  const runId = await say(`${key} slow`, deps)
  await deps.kernel.delay(500)
  const steered = await say(`${key}-more look`, deps, 'steer')
  if (runId) await expectEnd(runId, deps, { stopReason: 'end_turn', within: DONE_MS })
  if (steered && steered !== runId) await expectEnd(steered, deps, { stopReason: 'end_turn', within: DONE_MS })
}

async function cancelledInQueue({ key, deps }: CalmScenario): Promise<void> {
  const first = await say(`${key} slow`, deps)
  const second = await say(`${key}-queued look`, deps)
  if (!first || !second) return
  await cancel(second, deps)
  await expectEnd(second, deps, { stopReason: 'cancelled', within: CANCEL_MS })
  await expectEnd(first, deps, { stopReason: 'end_turn', within: DONE_MS })
}

async function cancelledWaiting({ key, deps }: CalmScenario): Promise<void> {
  const runId = await say(`${key} once+risky`, deps)
  if (!runId || !(await expectWaiting(runId, deps))) return
  await cancel(runId, deps)
  await expectEnd(runId, deps, { stopReason: 'cancelled', within: CANCEL_MS })
}

/** A compaction is requested during a turn, and the following turn is not affected. */
async function compactedTurn({ key, deps }: CalmScenario): Promise<void> {
  const { kernel, conversation, checker } = deps
  const before = await say(`${key} look once`, deps)
  const task = kernel.chance(0.7) ? ('compact' as const) : ('reset' as const)
  const made = await ask(deps, task, (context) => changeContext({ ...conversation, task }, context))
  const after = await say(`${key}-after look`, deps)
  if (made === 'no-answer') return checker.violate(`I13 a ${task} got no answer without faults`)
  if (before) await expectEnd(before, deps, { stopReason: 'end_turn', within: DONE_MS })
  if (made !== 'refused' && !(await waitUntil(made, deps, { within: DONE_MS, isRight: isSettled })))
    checker.violate(`I13 ${made} has no end ${DONE_MS} ms later, without faults`)
  if (after) await expectEnd(after, deps, { stopReason: 'end_turn', within: DONE_MS })
}

async function say(text: string, deps: SimulatedClientDeps, policy: 'queue' | 'steer' = 'queue') {
  const { checker, conversation } = deps
  const key = text.split(' ')[0]!
  const request = { ...conversation, content: [{ type: 'text' as const, text }], policy, idempotencyKey: key }
  const sent = await ask(deps, `send ${text} (${policy})`, (context) => sendMessage(request, context))
  if (sent === 'no-answer') checker.violate(`I13 ${key} got no answer without faults`)
  if (typeof sent !== 'object') return undefined
  const { runId, request: id, type: how } = sent
  checker.memory.accepted.push({ key, runId, request: id, text, how })
  return sent.runId
}

async function cancel(runId: RunId, deps: SimulatedClientDeps): Promise<void> {
  const cancelled = await ask(deps, `cancel ${runId}`, (context) => cancelRun(runId, context))
  if (typeof cancelled !== 'object') deps.checker.violate(`I18 a cancel of ${runId} was not answered without faults`)
}

async function answerAll(runId: RunId, deps: SimulatedClientDeps): Promise<RunId | undefined> {
  const pending = await ask(deps, 'list approvals', (context) => listApprovals(context))
  const mine = typeof pending === 'object' ? pending.find(({ run }) => run.id === runId) : undefined
  if (!mine) return undefined
  const verdicts = mine.calls.map(({ callId, digest }) => ({ callId, verdict: 'approve' as const, digest }))
  const next = await ask(deps, `answer ${runId}`, (context) => answerApproval({ runId, verdicts }, context))
  if (next === 'refused' || next === 'no-answer') {
    deps.checker.violate(`I21 the answer to ${runId} was ${next} without faults`)
    return undefined
  }
  deps.checker.memory.answered.push({ runId, next })
  return next
}

async function expectWaiting(runId: RunId, deps: SimulatedClientDeps): Promise<boolean> {
  const run = await waitUntil(runId, deps, { within: DONE_MS, isRight: ({ waiting }) => waiting })
  if (!run) deps.checker.violate(`I22 ${runId} does not wait for approval within ${DONE_MS} ms`)
  return run !== undefined
}

/** A reader of any process gets the whole stream while it is produced. */
async function expectStream(runId: RunId, deps: SimulatedClientDeps): Promise<void> {
  const { kernel, checker, anyContext } = deps
  const context = anyContext()
  if (!context) return
  const leave = new AbortController()
  const patience = kernel.after(DONE_MS, () => leave.abort())
  let hasEnded = false
  for await (const { number, chunk } of watchRun(runId, { signal: leave.signal }, context)) {
    checker.sawChunk(runId, number, JSON.stringify(chunk))
    hasEnded ||= chunk.message_type === 'done'
  }
  patience()
  if (!hasEnded) checker.violate(`I25 a reader of ${runId} saw no end without faults`)
}

type ExpectedEnd = { stopReason: string; within: number }

async function expectEnd(runId: RunId, deps: SimulatedClientDeps, { stopReason, within }: ExpectedEnd): Promise<void> {
  const run = await waitUntil(runId, deps, { within, isRight: isSettled })
  const isOverruled = run?.stopReason === 'cancelled' && stopReason === 'end_turn'
  if (!run) deps.checker.violate(`I13 ${runId} has no end ${within} ms later, without faults`)
  else if (run.stopReason !== stopReason && !isOverruled)
    deps.checker.violate(`I12 ${runId} ended ${run.stopReason} without faults, not ${stopReason}`)
}

type Wait = { within: number; isRight(run: Run): boolean }

async function waitUntil(runId: RunId, deps: SimulatedClientDeps, { within, isRight }: Wait): Promise<Run | undefined> {
  const { kernel, anyContext } = deps
  for (const until = kernel.now() + within; ; ) {
    const context = anyContext()
    const run = context && (await context.deps.store.runs.get(context.organizationId, runId))
    if (run && isRight(run)) return run
    if (kernel.now() >= until) return undefined
    await kernel.delay(100)
  }
}
