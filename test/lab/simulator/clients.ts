import type { Agent } from '../../../src/core/agent.ts'
import type { Verdict } from '../../../src/core/approval.ts'
import { defined } from '../../../src/core/defined.ts'
import type { ConversationId, RunId } from '../../../src/core/id.ts'
import { Problem } from '../../../src/core/problem.ts'
import { StorageError } from '../../../src/ports/storage-error.ts'
import { answerApproval } from '../../../src/service/approvals/answer-approval.ts'
import { listApprovals, type PendingApproval } from '../../../src/service/approvals/approvals.ts'
import { changeContext } from '../../../src/service/conversations/change-context.ts'
import { expireSessions, leaveConversation } from '../../../src/service/conversations/sessions.ts'
import { sendMessage } from '../../../src/service/messages/send-message.ts'
import { cancelRun } from '../../../src/service/runs/runs.ts'
import { watchRun } from '../../../src/service/runs/watch-run.ts'
import type { ServiceContext } from '../../../src/service/service-context.ts'
import type { Checker } from './checker.ts'
import type { FaultInjector } from './faults.ts'
import type { Kernel } from './kernel.ts'
import { withFiller } from './parsed-prompt.ts'

export type SimulatedClientDeps = {
  name: string
  kernel: Kernel
  injector: FaultInjector
  checker: Checker
  conversation: { agent: Agent; conversationId: ConversationId }
  /** The context of a live process, if there is one. */
  anyContext(): ServiceContext | undefined
  endsAt: number
  /** Whether some messages are very long. */
  hasGiants: boolean
}

const WORDS = [
  'look',
  'again',
  'check',
  'once',
  'risky',
  'slow',
  'remote',
  'changed',
  'remote+look',
  'look+look',
  'again+again+look',
  'once+again',
  'once+risky',
  'check+once',
  'check+check',
  'risky+risky+look',
]

/** A realistic client: sends, retries without a response, cancels, approves, watches, reconnects and vanishes. */
export async function runClient(deps: SimulatedClientDeps): Promise<void> {
  const { kernel, injector, endsAt, name } = deps
  for (let turn = 0; kernel.now() < endsAt; turn++) {
    await kernel.delay(kernel.between(0, 3_000))
    // The message arrives between what a sweep reads and what it writes.
    if (kernel.chance(0.4)) {
      void endSessions(deps)
      await kernel.delay(kernel.between(0, 12))
    }
    const runId = await send(`${name}-${turn}`, deps)
    if (runId && !injector.strikes('client-vanishes', name)) {
      const watching = watch(runId, deps)
      if (kernel.chance(0.25)) void later(kernel, () => cancel(runId, deps))
      if (kernel.chance(0.7)) await Promise.race([watching, kernel.delay(kernel.between(100, 20_000))])
    }
    if (kernel.chance(0.8)) await answer(deps)
    while (kernel.chance(0.15)) await makeRoom(deps)
    if (kernel.chance(0.25)) await endSessions(deps)
  }
}

const MODES = ['sliding_window', 'all', 'self_compact_sliding_window', 'self_compact_all'] as const

/** Requests a summary or a reset, regardless of the state of the conversation. */
async function makeRoom(deps: SimulatedClientDeps): Promise<void> {
  const { kernel, conversation } = deps
  const task = kernel.chance(0.7) ? ('compact' as const) : ('reset' as const)
  const compaction = { mode: kernel.pick(MODES) }
  await ask(deps, task, (context) => changeContext({ ...conversation, task, compaction }, context))
}

/** The sweep of a process: agents of the simulation have a policy. Or a user leaves the conversation. */
async function endSessions(deps: SimulatedClientDeps): Promise<void> {
  const { kernel, checker, conversation } = deps
  if (kernel.chance(0.3)) return void (await ask(deps, 'leave', (context) => leaveConversation(conversation, context)))
  const ended = await ask(deps, 'end sessions', (context) => expireSessions(context))
  if (typeof ended === 'number' && ended > 0) checker.observer.reached('a session expires')
}

const later = async (kernel: Kernel, task: () => Promise<void>) => {
  await kernel.delay(kernel.between(0, 500))
  await task()
}

async function send(key: string, deps: SimulatedClientDeps): Promise<RunId | undefined> {
  const { kernel, conversation, checker } = deps
  const words = Array.from({ length: kernel.between(0, 3) }, () => kernel.pick(WORDS))
  const asked = [key, ...words].join(' ')
  const length = kernel.between(1_000, 20_000)
  const isGiant = kernel.chance(0.2) && deps.hasGiants
  const text = isGiant ? withFiller(asked, length) : asked
  const policy = kernel.pick(['queue', 'queue', 'reject', 'interrupt', 'steer', 'steer'] as const)
  const onGuarded = kernel.chance(0.85) ? ('ask' as const) : ('deny' as const)
  const streamTokens = kernel.chance(0.7)
  const maxSteps = kernel.pick([1, 2, 6, 6, 6])
  const background = kernel.chance(0.1)
  const image = { type: 'image' as const, source: { mediaType: 'image/png', data: 'AAAA' } }
  const content = [{ type: 'text' as const, text }, ...(kernel.chance(0.1) ? [image] : [])]
  // Another setting than that of the agent, which only this run has.
  const reasoning = background ? { reasoning: 'off' as const } : {}
  const options = { policy, onGuarded, streamTokens, maxSteps, background, metadata: { policy } }
  const request = { ...conversation, ...options, ...reasoning, content }
  let runId: RunId | undefined
  for (let attempt = 0; attempt < 6; attempt++) {
    const sent = await ask(deps, `send ${asked} (${policy})`, (context) =>
      sendMessage({ ...request, idempotencyKey: key }, context),
    )
    if (sent === 'refused') return runId
    if (sent !== 'no-answer') {
      const { runId: carrier, request, interrupted } = sent
      checker.memory.accepted.push({
        key,
        runId: carrier,
        request,
        text,
        how: sent.type,
        ...defined({ interrupted }),
      })
      if (sent.type === 'steered') checker.observer.reached('a message is steered')
      if (interrupted) checker.observer.reached('a message interrupts')
      runId = sent.runId
      // Sometimes a client repeats an answered request: a proxy retried, a user clicked twice.
      if (kernel.chance(0.9)) return runId
    }
    await kernel.delay(kernel.between(100, 2_000))
  }
  return runId
}

async function cancel(runId: RunId, deps: SimulatedClientDeps): Promise<void> {
  const { cancelling, cancelled } = deps.checker.memory
  cancelling.add(runId)
  const run = await ask(deps, `cancel ${runId}`, (context) => cancelRun(runId, context))
  cancelling.delete(runId)
  if (typeof run === 'object') cancelled.push(runId)
}

async function answer(deps: SimulatedClientDeps): Promise<void> {
  const { kernel, checker } = deps
  const pending = await ask(deps, 'list approvals', (context) => listApprovals(context))
  if (typeof pending !== 'object') return
  for (const { run, calls } of pending) {
    if (kernel.chance(0.3)) continue
    const { verdicts, isMistaken } = drawVerdicts(calls, kernel)
    if (kernel.chance(0.2)) void cancel(run.id, deps)
    if (!isMistaken) checker.memory.answering.add(run.id)
    for (let attempt = 0; attempt < 3; attempt++) {
      const next = await ask(deps, `answer ${run.id}`, (context) => {
        if (checker.memory.cancelling.has(run.id)) checker.observer.reached("cancel during an approval's commit")
        return answerApproval({ runId: run.id, verdicts }, context)
      })
      if (next === 'refused') break
      if (next === 'no-answer') continue
      // After the first answer, every further answer returns the run that it opened.
      if (isMistaken && !checker.memory.answering.has(run.id))
        checker.violate(`I21 an approval of other arguments was accepted for ${run.id}`)
      checker.memory.answered.push({ runId: run.id, next })
      if (kernel.chance(0.3)) await answerLate(run.id, verdicts, deps)
      if (kernel.chance(0.5)) void watch(next, deps)
      if (kernel.chance(0.8)) break
    }
  }
}

/** Another person decides otherwise, too late: a refusal, because the first verdict counts. */
async function answerLate(runId: RunId, decided: readonly Verdict[], deps: SimulatedClientDeps): Promise<void> {
  const verdicts = decided.map(
    ({ callId, verdict }): Verdict => ({ callId, verdict: verdict === 'deny' ? 'approve' : 'deny' }),
  )
  if (verdicts.length === 0) return
  const late = await ask(deps, `answer ${runId} late`, (context) => answerApproval({ runId, verdicts }, context))
  if (late === 'refused') deps.checker.observer.reached('a verdict comes too late')
  else if (late !== 'no-answer') deps.checker.violate(`I21 a verdict on ${runId} was accepted after another one`)
}

/** Sometimes the user saw an older call than the pending one. */
function drawVerdicts(calls: PendingApproval['calls'], kernel: Kernel) {
  const isMistaken = kernel.chance(0.1) && calls.length > 0
  const verdicts = calls.map(({ callId, digest }) => {
    if (isMistaken) return { callId, verdict: 'approve' as const, digest: 'of other arguments' }
    if (kernel.chance(0.3)) return { callId, verdict: 'deny' as const }
    return { callId, verdict: 'approve' as const, ...defined({ digest: kernel.chance(0.5) ? digest : undefined }) }
  })
  return { verdicts, isMistaken }
}

export async function watch(runId: RunId, deps: SimulatedClientDeps): Promise<void> {
  const { kernel, checker } = deps
  let last = 0
  let hasEnded = false
  for (let visit = 0; visit < 4; visit++) {
    const context = deps.anyContext()
    if (!context) return
    const leave = new AbortController()
    const patience = kernel.after(kernel.between(50, 15_000), () => leave.abort())
    const reading = (async () => {
      for await (const { number, event, chunk } of watchRun(runId, { after: last, signal: leave.signal }, context)) {
        checker.sawChunk(runId, number, JSON.stringify(chunk))
        if (number !== last + 1)
          checker.violate(`I24 a reader of ${runId} got ${number} after ${last} (event ${event})`)
        if (hasEnded) checker.violate(`I25 a reader of ${runId} got ${number} after the end`)
        last = number
        if (chunk.message_type === 'done') return 'done'
        // Readers disconnect anywhere, not only where a write ended.
        if (kernel.chance(0.03)) return 'left'
      }
      if (hasEnded && !leave.signal.aborted) checker.observer.reached('resume at the last number')
      return 'left'
    })().catch(ignoreRefusal)
    const outcome = await Promise.race([reading, kernel.delay(20_000)])
    patience()
    leave.abort()
    if (outcome === 'done') hasEnded = true
    if (hasEnded && kernel.chance(0.8)) return
  }
}

/** The result, `refused` if the request was refused, or `no-answer` if no response came. */
export async function ask<T>(
  deps: SimulatedClientDeps,
  what: string,
  call: (context: ServiceContext) => Promise<T>,
): Promise<T | 'refused' | 'no-answer'> {
  const { kernel, name } = deps
  const context = deps.anyContext()
  if (!context) return 'no-answer'
  const answered = call(context).catch((fault: unknown) => {
    if (fault instanceof Problem) return 'refused' as const
    if (fault instanceof StorageError) return 'no-answer' as const
    throw fault
  })
  const answer = await Promise.race([answered, kernel.delay(10_000).then(() => 'no-answer' as const)])
  kernel.log(`${name}: ${what}: ${answerText(answer)}`)
  return answer
}

function answerText(answer: unknown): string {
  if (typeof answer === 'string') return answer
  return typeof answer === 'object' && answer !== null && 'runId' in answer ? `ok, it is ${answer.runId}` : 'ok'
}

function ignoreRefusal(fault: unknown): 'left' {
  if (fault instanceof Problem || fault instanceof StorageError) return 'left'
  throw fault
}
