import { isRepeatOf, resolveVerdicts, undecidedCalls, type Verdict } from '../../core/approval.ts'
import { defined } from '../../core/defined.ts'
import type { Continuation, LoggedEvent, TurnEvent } from '../../core/event.ts'
import { parseId, type RunId } from '../../core/id.ts'
import type { Input } from '../../core/message.ts'
import { overriddenBy, withReasoning } from '../../core/model-settings.ts'
import { joinPrincipals, type Principal, principalOf } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import { type ProjectedEvent, project } from '../../core/projection.ts'
import { patienceOf } from '../../core/recovery.ts'
import { isSettled, type Run, type RunSettings } from '../../core/run.ts'
import { runTraceContext, traceparentOf } from '../../core/traceparent.ts'
import { foldTurn, type Turn } from '../../core/turn.ts'
import type { ContinueRun, NewRun } from '../../ports/store.ts'
import type { SendOptions } from '../messages/send-message.ts'
import { withAudit } from '../people/audit.ts'
import type { ServiceContext } from '../service-context.ts'
import { requireApprover } from './approver.ts'
import { decisionsText, findAnswer, lateProblem } from './late-verdict.ts'

type AnswerApprovalRequest = {
  runId: string
  verdicts: Verdict[]
  followUps?: Input[]
  /** Input for a repeated answer whose tools have run but whose run stopped before the model continued. */
  reminder?: Input[]
  /** How the continuing run differs from the one that waited. */
  options?: Omit<SendOptions, 'policy' | 'onGuarded'>
}

/**
 * Answers all open calls of a waiting run at once and opens the run that carries the answer out. Idempotent: a repeated
 * answer attaches to that run. If that run was cancelled or failed, a new run lets the model continue without running a
 * tool twice.
 */
export async function answerApproval(request: AnswerApprovalRequest, context: ServiceContext): Promise<RunId> {
  const continuing = await answerOrAttach(request, context)
  if (request.options?.callback) context.callbacks.expect(continuing, context.organizationId)
  return continuing
}

async function answerOrAttach(request: AnswerApprovalRequest, context: ServiceContext): Promise<RunId> {
  const { store } = context.deps
  const runId = parseId('run', request.runId)
  for (;;) {
    const run = runId && (await store.runs.get(context.organizationId, runId))
    if (!run)
      throw new Problem(
        'not-found',
        `There is no run "${request.runId}". \`holdfast approvals\` lists the pending approvals.`,
      )
    const events = await store.events.read(run.id, 0)
    const turn = foldTurn(events.map(({ event }) => event))
    if (turn.phase !== 'waiting') return answerAgain({ run, events, turn }, request, context)
    requireApprover(turn, request.verdicts, context)
    const opened = await openContinuation({ run, events, turn }, request, context)
    if (opened) return opened
    // Another request answered or cancelled it first, or it expired: the next round sees which.
  }
}

type WaitingRun = { run: Run; events: LoggedEvent[]; turn: Turn }

async function openContinuation(
  { run, events, turn }: WaitingRun,
  { verdicts, followUps, options }: AnswerApprovalRequest,
  context: ServiceContext,
): Promise<RunId | undefined> {
  const { deps, engine } = context
  const { randomness, clock } = deps
  const decided = resolveVerdicts(undecidedCalls(turn), verdicts)
  if ('refusal' in decided) throw new Problem('invalid', decided.refusal, { runId: run.id })
  const step = turn.step!
  const next = newContinuingRun(run, options, context)
  const answered: TurnEvent = {
    type: 'approval-answered',
    v: 1,
    decisions: decided.decisions,
    responseId: `message-${randomness.uuid()}`,
    continuedBy: next.id,
    by: principalOf(context.caller),
  }
  const calls = step.calls.map(({ decision: _, startedBy: __, outcome: ___, ...call }) => call)
  const { stepId, answerId, resultsId } = step
  const continues = { runId: run.id, stepId, answerId, resultsId, calls, decisions: decided.decisions }
  const at = clock.now()
  const changes = project(turn, answered, { runId: run.id, at, holdsConversation: true })
  const slot = engine?.dispatcher.reserve(run.organizationId)
  try {
    const entry = inputAcceptedEntry(turn, {
      traceparent: traceparentAfter(run, turn, context),
      inputs: [...turn.pending, ...(followUps ?? [])],
      askedBy: followUps?.length ? joinPrincipals(turn.askedBy, [principalOf(context.caller)]) : turn.askedBy,
      continues,
      at,
      background: next.background,
      ...defined({ options }),
    })
    const action = { verb: 'approval.answer', object: run.id, detail: decisionsText(decided.decisions) }
    const continuation: ContinueRun = {
      answer: {
        runId: run.id,
        commitId: randomness.uuid(),
        writer: { type: 'guest', phases: ['waiting'] },
        seen: events.length + 1,
        facts: [],
        intents: [{ event: answered, at, changes }],
      },
      run: next,
      entry,
      ...defined({ claimFor: engine && slot ? engine.workerId : undefined }),
    }
    const opened = await withAudit(action, context, () => deps.store.runs.continueAfterApproval(continuation))
    if (!opened) return undefined
    if (opened.status === 'running' && slot) slot.use({ run: opened, events: [{ seq: 1, at, event: entry.event }] })
    else engine?.dispatcher.wake('queue')
    return opened.id
  } finally {
    slot?.release()
  }
}

async function answerAgain(
  { run, events, turn }: WaitingRun,
  { verdicts, followUps = [], reminder = [], options }: AnswerApprovalRequest,
  context: ServiceContext,
): Promise<RunId> {
  const { deps, engine, organizationId } = context
  const answer = findAnswer(events)
  if (!answer || !isRepeatOf(verdicts, answer.event.decisions)) throw lateProblem(run, { events, answer, verdicts })
  const continuing = await deps.store.runs.get(organizationId, answer.event.continuedBy)
  if (!continuing) throw new Problem('conflict', 'No tool call is currently awaiting approval.', { runId: run.id })
  const stopped = isSettled(continuing) && continuing.status !== 'completed'
  if (!stopped) return continuing.id

  const at = deps.clock.now()
  const emptySteering: ProjectedEvent = { event: { type: 'input-steered', v: 1, inputs: [] }, at, changes: [] }
  const next = newContinuingRun(run, options, context)
  const opened = await deps.store.runs.open({
    run: next,
    entry: inputAcceptedEntry(turn, {
      traceparent: traceparentAfter(run, turn, context),
      inputs: followUps.length > 0 ? followUps : reminder,
      askedBy: followUps.length > 0 ? joinPrincipals(turn.askedBy, [principalOf(context.caller)]) : turn.askedBy,
      at,
      background: next.background,
      ...defined({ options }),
    }),
    policy: 'queue',
    interruption: emptySteering,
    steering: emptySteering,
  })
  if (opened.type !== 'opened') throw new Problem('busy', 'The conversation is busy. Try again in a moment.')
  engine?.dispatcher.wake('queue')
  return opened.run.id
}

function newContinuingRun(run: Run, options: AnswerApprovalRequest['options'], { deps }: ServiceContext): NewRun {
  const { organizationId, agentId, conversationId } = run
  const { background = run.background, metadata = {}, callback } = options ?? {}
  const id = `run-${deps.randomness.uuid()}` as const
  const createdAt = deps.clock.now()
  const ids = { id, organizationId, agentId, conversationId, continues: run.id }
  return { ...ids, background, createdAt, metadata, ...defined({ callback, openedBy: run.openedBy }) }
}

/** In the trace of the run that asked, and not in that of the request that answers. */
function traceparentAfter({ id }: Run, { settings }: Turn, { deps }: ServiceContext): string {
  return traceparentOf(runTraceContext({ id, ...defined({ traceparent: settings.traceparent }) }, deps.digest))
}

type AcceptedInput = {
  traceparent: string
  inputs: Input[]
  askedBy: readonly Principal[]
  continues?: Continuation
  at: number
  /** Of the continuing run: the answer may be sent by a caller that waits, also if the turn began in the background. */
  background: boolean
  options?: AnswerApprovalRequest['options']
}

function inputAcceptedEntry(
  turn: Turn,
  { traceparent, inputs, askedBy, continues, at, background, options }: AcceptedInput,
): ProjectedEvent {
  const { streamTokens, maxSteps, clientTools, system, addendum, model, reasoning } = options ?? {}
  const own = options?.modelSettings
  const { patienceMs: _, ...former } = turn.settings
  const { targets, modelSettings = {} } = former
  const settings: RunSettings = {
    ...former,
    traceparent,
    ...defined({ patienceMs: patienceOf(background), streamTokens, maxSteps, clientTools, system, addendum }),
    ...defined({
      targets: model ? [model, ...targets.slice(1).filter((handle) => handle !== model)] : undefined,
      modelSettings: reasoning ? withReasoning(modelSettings, reasoning) : overriddenBy(former.modelSettings, own),
    }),
  }
  const event: TurnEvent = {
    type: 'input-accepted',
    v: 1,
    inputs,
    settings,
    askedBy: [...askedBy],
    ...defined({ continues }),
  }
  return { event, at, changes: [] }
}
