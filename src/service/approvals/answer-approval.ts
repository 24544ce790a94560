import { decide, undecidedCalls, type Verdict } from '../../core/approval.ts'
import type { Continuation, LoggedEvent, TurnEvent } from '../../core/event.ts'
import { parseId, type RunId } from '../../core/id.ts'
import type { Input } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { type Entry, project } from '../../core/projection.ts'
import { isSettled, type Run, type RunSettings } from '../../core/run.ts'
import { foldTurn, type Turn } from '../../core/turn.ts'
import type { NewRun } from '../../ports/store.ts'
import type { Desk } from '../desk.ts'
import type { Wishes } from '../messages/send-message.ts'

type AnswerApproval = {
  runId: string
  verdicts: Verdict[]
  followUps?: Input[]
  /** What is said when the answer had been carried out and only the words after it are missing; nothing by default. */
  reminder?: Input[]
  /** How the continuing run differs from the one that waited. */
  wishes?: Pick<Wishes, 'streamTokens' | 'background' | 'maxSteps' | 'clientTools' | 'metadata' | 'callback'>
}

/**
 * Answers all open calls of a waiting run at once and opens the run that carries the answer out. Answering again
 * attaches to that run; if it was cancelled or failed, a new one lets the model go on without running a tool again.
 */
export async function answerApproval(request: AnswerApproval, desk: Desk): Promise<RunId> {
  const continuing = await answerOrAttach(request, desk)
  if (request.wishes?.callback) desk.callbacks.expect(continuing, desk.organizationId)
  return continuing
}

async function answerOrAttach(request: AnswerApproval, desk: Desk): Promise<RunId> {
  const { store } = desk.world
  const runId = parseId('run', request.runId)
  for (;;) {
    const run = runId && (await store.runs.get(desk.organizationId, runId))
    if (!run)
      throw new Problem('not-found', `There is no run "${request.runId}". \`holdfast approvals\` lists what waits.`)
    const events = await store.events.read(run.id, 0)
    const turn = foldTurn(events.map(({ event }) => event))
    if (turn.phase !== 'waiting') return answerAgain({ run, events, turn }, request, desk)
    const opened = await openContinuation({ run, events, turn }, request, desk)
    if (opened) return opened
    // Another request answered or cancelled it first, or it expired: the next round sees which.
  }
}

type Waiting = { run: Run; events: LoggedEvent[]; turn: Turn }

async function openContinuation(
  { run, events, turn }: Waiting,
  { verdicts, followUps, wishes }: AnswerApproval,
  desk: Desk,
): Promise<RunId | undefined> {
  const { world, engine } = desk
  const { randomness, clock } = world
  const decided = decide(undecidedCalls(turn), verdicts)
  if ('refusal' in decided) throw new Problem('invalid', decided.refusal, { runId: run.id })
  const step = turn.step!
  const next = newRun(run, wishes, desk)
  const answered: TurnEvent = {
    type: 'approval-answered',
    v: 1,
    decisions: decided.decisions,
    responseId: `message-${randomness.uuid()}`,
    continuedBy: next.id,
  }
  const calls = step.calls.map(({ decision: _, startedBy: __, outcome: ___, ...call }) => call)
  const { stepId, answerId, resultsId } = step
  const continues = { runId: run.id, stepId, answerId, resultsId, calls, decisions: decided.decisions }
  const at = clock.now()
  const changes = project(turn, answered, { runId: run.id, at, holdsConversation: true })
  const place = engine?.dispatcher.reserve()
  try {
    const entry = accepted(turn, {
      inputs: [...turn.pending, ...(followUps ?? [])],
      continues,
      at,
      ...(wishes ? { wishes } : {}),
    })
    const opened = await world.store.runs.continueAfterApproval({
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
      ...(engine && place ? { claimFor: engine.workerId } : {}),
    })
    if (!opened) return undefined
    if (opened.status === 'running' && place) place.use({ run: opened, events: [{ seq: 1, at, event: entry.event }] })
    else engine?.dispatcher.wake('queue')
    return opened.id
  } finally {
    place?.release()
  }
}

async function answerAgain(
  { run, turn }: Waiting,
  { followUps = [], reminder = [], wishes }: AnswerApproval,
  desk: Desk,
): Promise<RunId> {
  const { world, engine, organizationId } = desk
  const continuing = turn.continuedBy && (await world.store.runs.get(organizationId, turn.continuedBy))
  if (!continuing) throw new Problem('conflict', 'No tool call is currently awaiting approval.', { runId: run.id })
  const stopped = isSettled(continuing) && continuing.status !== 'completed'
  if (!stopped) return continuing.id

  const at = world.clock.now()
  const nothing: Entry = { event: { type: 'input-steered', v: 1, inputs: [] }, at, changes: [] }
  const opened = await world.store.runs.open({
    run: newRun(run, wishes, desk),
    entry: accepted(turn, { inputs: followUps.length > 0 ? followUps : reminder, at, ...(wishes ? { wishes } : {}) }),
    policy: 'enqueue',
    interruption: nothing,
    steering: nothing,
  })
  if (opened.type !== 'opened') throw new Problem('busy', 'The conversation is busy. Try again in a moment.')
  engine?.dispatcher.wake('queue')
  return opened.run.id
}

function newRun(run: Run, wishes: AnswerApproval['wishes'], { world }: Desk): NewRun {
  const { organizationId, agentId, conversationId } = run
  const { background = run.background, metadata = {}, callback } = wishes ?? {}
  const id = `run-${world.randomness.uuid()}` as const
  const createdAt = world.clock.now()
  const place = { id, organizationId, agentId, conversationId, continues: run.id }
  return { ...place, background, createdAt, metadata, ...(callback ? { callback } : {}) }
}

type Acceptance = { inputs: Input[]; continues?: Continuation; at: number; wishes?: AnswerApproval['wishes'] }

function accepted(turn: Turn, { inputs, continues, at, wishes }: Acceptance): Entry {
  const { streamTokens, maxSteps, clientTools } = wishes ?? {}
  const settings: RunSettings = {
    ...turn.settings,
    ...(streamTokens === undefined ? {} : { streamTokens }),
    ...(maxSteps === undefined ? {} : { maxSteps }),
    ...(clientTools === undefined ? {} : { clientTools }),
  }
  const event: TurnEvent = { type: 'input-accepted', v: 1, inputs, settings, ...(continues ? { continues } : {}) }
  return { event, at, changes: [] }
}
