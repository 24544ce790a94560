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

type CalmScenario = { key: string; parts: SimulatedClientDeps }

/**
 * After the faults: nothing fails and no run is open, so every result must be exact. Leftovers of the day (a lost lease,
 * a full queue, a stale cache) must have no effect.
 */
export async function runCalmPhase(parts: SimulatedClientDeps): Promise<void> {
  const { kernel, name } = parts
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
  for (let turn = 0; turn < 2; turn++) await kernel.pick(plans)({ key: `${name}-evening-${turn}`, parts })
}

async function plainTurn({ key, parts }: CalmScenario): Promise<void> {
  const runId = await say(`${key} look+look once again`, parts)
  if (!runId) return
  const reading = expectStream(runId, parts)
  await expectEnd(runId, parts, { stopReason: 'end_turn', within: DONE_MS })
  await reading
  const again = await say(`${key} look+look once again`, parts)
  if (again !== runId) parts.checker.violate(`I8 ${key} was sent again and opened ${again} besides ${runId}`)
}

async function cancelledTurn({ key, parts }: CalmScenario): Promise<void> {
  const runId = await say(`${key} slow once`, parts)
  if (!runId) return
  await parts.kernel.delay(parts.kernel.between(50, 1_000))
  await cancel(runId, parts)
  await expectEnd(runId, parts, { stopReason: 'cancelled', within: CANCEL_MS })
}

async function queueOfThree({ key, parts }: CalmScenario): Promise<void> {
  const runs: (RunId | undefined)[] = []
  for (const number of [1, 2, 3]) runs.push(await say(`${key}-${number} look`, parts))
  for (const runId of runs) if (runId) await expectEnd(runId, parts, { stopReason: 'end_turn', within: DONE_MS })
}

async function approvedTurn({ key, parts }: CalmScenario): Promise<void> {
  const runId = await say(`${key} risky+look`, parts)
  if (!runId || !(await expectWaiting(runId, parts))) return
  const next = await answerAll(runId, parts)
  if (next) await expectEnd(next, parts, { stopReason: 'end_turn', within: DONE_MS })
}

async function steeredTurn({ key, parts }: CalmScenario): Promise<void> {
  const runId = await say(`${key} slow`, parts)
  await parts.kernel.delay(500)
  const steered = await say(`${key}-more look`, parts, 'steer')
  if (runId) await expectEnd(runId, parts, { stopReason: 'end_turn', within: DONE_MS })
  if (steered && steered !== runId) await expectEnd(steered, parts, { stopReason: 'end_turn', within: DONE_MS })
}

async function cancelledInQueue({ key, parts }: CalmScenario): Promise<void> {
  const first = await say(`${key} slow`, parts)
  const second = await say(`${key}-queued look`, parts)
  if (!first || !second) return
  await cancel(second, parts)
  await expectEnd(second, parts, { stopReason: 'cancelled', within: CANCEL_MS })
  await expectEnd(first, parts, { stopReason: 'end_turn', within: DONE_MS })
}

async function cancelledWaiting({ key, parts }: CalmScenario): Promise<void> {
  const runId = await say(`${key} once+risky`, parts)
  if (!runId || !(await expectWaiting(runId, parts))) return
  await cancel(runId, parts)
  await expectEnd(runId, parts, { stopReason: 'cancelled', within: CANCEL_MS })
}

/** A compaction is requested during a turn, and the following turn is not affected. */
async function compactedTurn({ key, parts }: CalmScenario): Promise<void> {
  const { kernel, conversation, checker } = parts
  const before = await say(`${key} look once`, parts)
  const task = kernel.chance(0.7) ? ('compact' as const) : ('reset' as const)
  const made = await ask(parts, task, (context) => changeContext({ ...conversation, task }, context))
  const after = await say(`${key}-after look`, parts)
  if (made === 'no-answer') return checker.violate(`I13 a ${task} got no answer without faults`)
  if (before) await expectEnd(before, parts, { stopReason: 'end_turn', within: DONE_MS })
  if (made !== 'refused' && !(await waitUntil(made, parts, { within: DONE_MS, isRight: isSettled })))
    checker.violate(`I13 ${made} has no end ${DONE_MS} ms later, without faults`)
  if (after) await expectEnd(after, parts, { stopReason: 'end_turn', within: DONE_MS })
}

async function say(text: string, parts: SimulatedClientDeps, policy: 'enqueue' | 'steer' = 'enqueue') {
  const { checker, conversation } = parts
  const key = text.split(' ')[0]!
  const request = { ...conversation, content: [{ type: 'text' as const, text }], policy, idempotencyKey: key }
  const sent = await ask(parts, `send ${text} (${policy})`, (context) => sendMessage(request, context))
  if (sent === 'no-answer') checker.violate(`I13 ${key} got no answer without faults`)
  if (typeof sent !== 'object') return undefined
  checker.memory.accepted.push({ key, runId: sent.runId, text, how: sent.type })
  return sent.runId
}

async function cancel(runId: RunId, parts: SimulatedClientDeps): Promise<void> {
  const cancelled = await ask(parts, `cancel ${runId}`, (context) => cancelRun(runId, context))
  if (typeof cancelled !== 'object') parts.checker.violate(`I18 a cancel of ${runId} was not answered without faults`)
}

async function answerAll(runId: RunId, parts: SimulatedClientDeps): Promise<RunId | undefined> {
  const pending = await ask(parts, 'list approvals', (context) => listApprovals(context))
  const mine = typeof pending === 'object' ? pending.find(({ run }) => run.id === runId) : undefined
  if (!mine) return undefined
  const verdicts = mine.calls.map(({ callId, digest }) => ({ callId, verdict: 'approve' as const, digest }))
  const next = await ask(parts, `answer ${runId}`, (context) => answerApproval({ runId, verdicts }, context))
  if (next === 'refused' || next === 'no-answer') {
    parts.checker.violate(`I21 the answer to ${runId} was ${next} without faults`)
    return undefined
  }
  parts.checker.memory.answered.push({ runId, next })
  return next
}

async function expectWaiting(runId: RunId, parts: SimulatedClientDeps): Promise<boolean> {
  const run = await waitUntil(runId, parts, { within: DONE_MS, isRight: ({ waiting }) => waiting })
  if (!run) parts.checker.violate(`I22 ${runId} does not wait for approval within ${DONE_MS} ms`)
  return run !== undefined
}

/** A reader of any process gets the whole stream while it is produced. */
async function expectStream(runId: RunId, parts: SimulatedClientDeps): Promise<void> {
  const { kernel, checker, anyContext } = parts
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

async function expectEnd(runId: RunId, parts: SimulatedClientDeps, { stopReason, within }: ExpectedEnd): Promise<void> {
  const run = await waitUntil(runId, parts, { within, isRight: isSettled })
  const isOverruled = run?.stopReason === 'cancelled' && stopReason === 'end_turn'
  if (!run) parts.checker.violate(`I13 ${runId} has no end ${within} ms later, without faults`)
  else if (run.stopReason !== stopReason && !isOverruled)
    parts.checker.violate(`I12 ${runId} ended ${run.stopReason} without faults, not ${stopReason}`)
}

type Wait = { within: number; isRight(run: Run): boolean }

async function waitUntil(
  runId: RunId,
  parts: SimulatedClientDeps,
  { within, isRight }: Wait,
): Promise<Run | undefined> {
  const { kernel, anyContext } = parts
  for (const until = kernel.now() + within; ; ) {
    const context = anyContext()
    const run = context && (await context.deps.store.runs.get(context.organizationId, runId))
    if (run && isRight(run)) return run
    if (kernel.now() >= until) return undefined
    await kernel.delay(100)
  }
}
