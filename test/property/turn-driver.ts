import { resolveVerdicts as decideApproval, undecidedCalls, type Verdict } from '../../src/core/approval.ts'
import { defined } from '../../src/core/defined.ts'
import type { LoggedEvent, Purpose, TurnEvent } from '../../src/core/event.ts'
import type { Failure } from '../../src/core/failure.ts'
import type { ConversationId, MessageId, RunId } from '../../src/core/id.ts'
import type { Message } from '../../src/core/message.ts'
import { type Change, type ProjectedEvent, project, type RunChange } from '../../src/core/projection.ts'
import { recover, WAIT_BUDGET_MS } from '../../src/core/recovery.ts'
import type { Run, RunSettings } from '../../src/core/run.ts'
import { settle, type ToolCall } from '../../src/core/tool-call.ts'
import { type Action, apply, foldTurn, nextAction, type Turn } from '../../src/core/turn.ts'
import { decideCommit } from '../../src/engine/journal.ts'

/** What models, tools and people do, in order. When a list is used up, harmless defaults follow. */
export type Script = {
  settings: RunSettings
  model: readonly ModelMove[]
  tools: readonly ToolMove[]
  /** What happens around each commit, in order. */
  commits: readonly Disturbance[]
  people: readonly PersonMove[]
}

export type ModelMove =
  | { type: 'answer'; calls: readonly ScriptedCall[]; finish: 'stop' | 'length' }
  | { type: 'failure'; failure: Failure }
  /** The answer arrives although the run is cancelled meanwhile. */
  | { type: 'answer-under-cancel'; calls: readonly ScriptedCall[] }
  | { type: 'cut-by-cancel'; hasText: boolean }

export type ScriptedCall = Pick<ToolCall, 'needsApproval' | 'effects' | 'parallel'> & { isRefused: boolean }

/** Which of the running tools ends first, its status, and what a verifiable one reports about a lost execution. */
export type ToolMove = { which: number; status: 'success' | 'error'; verified: 'done' | 'not-done' | 'unknown' }

export type Disturbance =
  | 'none'
  | 'cancel-first'
  | 'steer-first'
  | 'time-limit-first'
  /** The work was done, but the worker died before recording it. */
  | 'death-before'
  | 'three-deaths-before'
  | 'death-after'
  | 'handed-back'
  /** An internal fault while performing the action. */
  | 'fault'

export type PersonMove =
  | 'approve'
  | 'deny'
  | 'result'
  | 'mixed'
  | 'approve-with-follow-up'
  /** The continuing run is cancelled in the queue. */
  | 'approve-then-cancel'
  | 'cancel'
  | 'expire'

/** A conversation in memory: its runs, of which the last is the current one, and the position in the script. */
export type State = {
  runs: RunState[]
  messages: Message[]
  now: number
  used: { model: number; tools: number; commits: number; people: number; ids: number }
}

export type RunState = { run: Run; events: LoggedEvent[]; turn: Turn }

const CONVERSATION: ConversationId = 'conv-1'

export function firstState(script: Script): State {
  const used = { model: 0, tools: 0, commits: 0, people: 0, ids: 0 }
  const state: State = { runs: [], messages: [], now: 1000, used }
  const inputs = [{ messageId: newId(state), role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] }]
  return openRun(state, { type: 'input-accepted', v: 1, inputs, settings: script.settings })
}

/** Every state of the conversation, one per commit, until nothing is left to do. */
export function driveToEnd(start: State, script: Script): State[] {
  const states: State[] = []
  let state = start
  for (;;) {
    if (states.length > 400) throw new Error('the turn does not end')
    const next = oneCommit(copy(state), script)
    if (!next) return states
    states.push(next)
    state = next
  }
}

/** The state for the next worker after the holder died: a higher fence and a `worker-lost` event. */
export function afterDeath(state: State): State {
  const next = copy(state)
  const current = next.runs.at(-1)!
  if (current.run.status !== 'running') return next
  const lost: TurnEvent = { type: 'worker-lost', v: 1, fence: current.run.fence }
  current.run = { ...current.run, fence: current.run.fence + 1, deaths: current.run.deaths + 1 }
  write(next, current, [{ event: lost, at: next.now, changes: [] }])
  return next
}

/** Undefined when every run is settled. */
function oneCommit(state: State, script: Script): State | undefined {
  state.now += 10
  const current = state.runs.at(-1)!
  if (current.turn.phase === 'ended') return undefined
  if (current.turn.phase === 'waiting') return onePersonMove(state, current, take(script.people, state, 'people'))
  if (current.run.status === 'created') return cancelHere(state, current, 'person')

  const disturbance = take(script.commits, state, 'commits') ?? 'none'
  if (disturbance === 'death-before') return afterDeath(state)
  if (disturbance === 'three-deaths-before') return afterDeath(afterDeath(afterDeath(state)))
  const action = nextAction(current.turn, current.run.fence)
  const callsModel = action.type === 'call-model' || action.type === 'compact'
  const move = callsModel ? (take(script.model, state, 'model') ?? lastAnswer) : undefined
  const met: PerformedBatch = { facts: [{ type: 'fault-met', v: 1, detail: 'a bug' }], intents: [] }
  const { facts, intents } = disturbance === 'fault' ? met : perform(action, current, { state, script, move })
  const foreign = move?.type === 'answer-under-cancel' || move?.type === 'cut-by-cancel' ? 'cancel-first' : disturbance
  commit(state, current, { facts, intents, foreign: foreignEvents(foreign, state) })

  if (disturbance === 'death-after') return afterDeath(state)
  if (disturbance === 'handed-back' && current.run.status === 'running')
    current.run = { ...current.run, fence: current.run.fence + 1 }
  return state
}

const lastAnswer: ModelMove = { type: 'answer', calls: [], finish: 'stop' }

type PerformedBatch = { facts: TurnEvent[]; intents: TurnEvent[] }
type DriverContext = { state: State; script: Script; move: ModelMove | undefined }

/** The facts and intents that the engine would commit for the action. */
function perform(action: Action, current: RunState, { state, script, move }: DriverContext): PerformedBatch {
  switch (action.type) {
    case 'park':
    case 'record':
      return { facts: [], intents: [] }
    case 'call-model':
      return { facts: attempt(move!, current.turn, state), intents: [] }
    case 'compact':
      return compaction(move!, current.turn, state)
    case 'reset':
    case 'close':
      throw new Error('no script has a reset')
    case 'run-tools': {
      const { which, status } = take(script.tools, state, 'tools') ?? quickTool
      const { callId } = action.calls[which % action.calls.length]!
      return { facts: [{ type: 'tool-ended', v: 1, outcome: { callId, status, output: 'done' } }], intents: [] }
    }
    case 'verify-call': {
      const { verified } = take(script.tools, state, 'tools') ?? quickTool
      const { callId } = action.call
      if (verified === 'not-done')
        return { facts: [], intents: [{ type: 'tool-started', v: 1, callId, fence: current.run.fence }] }
      const outcome =
        verified === 'done' ? { callId, status: 'success' as const, output: 'found' } : settle(callId, 'lost')
      return { facts: [{ type: 'tool-ended', v: 1, outcome }], intents: [] }
    }
  }
}

const quickTool: ToolMove = { which: 0, status: 'success', verified: 'done' }

function attempt(move: ModelMove, turn: Turn, state: State): TurnEvent[] {
  const { target } = turn.attempts.answer
  const position = { target, inputsRead: turn.pending.length, streamedTo: 0 }
  const content = [{ type: 'text' as const, text: 'well' }]
  switch (move.type) {
    case 'failure': {
      return [failed(move.failure, turn, 'answer')]
    }
    case 'cut-by-cancel':
      if (!move.hasText) return []
      return [
        { type: 'answer-cut', v: 1, stepId: `step-${newId(state)}`, answerId: newId(state), content, ...position },
      ]
    case 'answer':
    case 'answer-under-cancel': {
      const ids = { stepId: `step-${newId(state)}` as const, answerId: newId(state), resultsId: newId(state) }
      const calls = move.calls.map((call, index) => scriptedCall(call, `${ids.answerId}-call-${index}`))
      const hasCalls = calls.length > 0
      const finish = hasCalls ? 'tool-calls' : move.type === 'answer' ? move.finish : 'stop'
      const usage = { promptTokens: 1, completionTokens: 1 }
      return [{ type: 'answer-received', v: 1, ...ids, content, calls, finish, usage, ...position }]
    }
  }
}

function failed(failure: Failure, turn: Turn, purpose: Purpose): TurnEvent {
  const { target, spent, waitedMs } = turn.attempts[purpose]
  const recovery = recover(failure, spent, {
    ...defined({ nextTarget: target + 1 < turn.settings.targets.length ? target + 1 : undefined }),
    siblings: 0,
    canRefresh: false,
    canRebuild: false,
    canCompact: purpose === 'answer',
    jitter: 0,
    waitBudgetLeftMs: WAIT_BUDGET_MS - waitedMs,
  })
  const waitMs = 'delayMs' in recovery ? recovery.delayMs : 0
  return { type: 'attempt-failed', v: 1, target, failure, remedy: recovery.remedy, retryAt: 0, purpose, waitMs }
}

/** A summary of everything so far, or the failure of its attempt. */
function compaction(move: ModelMove, turn: Turn, state: State): PerformedBatch {
  if (move.type === 'failure') return { facts: [failed(move.failure, turn, 'summary')], intents: [] }
  const { target } = turn.attempts.summary
  const made = { text: 'before', replaces: { from: 0, to: 0 }, contextStart: 0, tokensBefore: 2, tokensAfter: 1 }
  const usage = { promptTokens: 1, completionTokens: 1 }
  const summaryId = newId(state)
  return { facts: [], intents: [{ type: 'context-compacted', v: 1, summaryId, target, usage, ...made }] }
}

function scriptedCall({ isRefused, ...call }: ScriptedCall, callId: string): ToolCall {
  const base = { callId, tool: 'thing', input: {} }
  if (!isRefused) return { ...base, ...call, digest: `digest of ${callId}` }
  return { ...base, digest: '', needsApproval: false, effects: 'none', parallel: true, refusal: 'no such tool' }
}

function foreignEvents(disturbance: Disturbance, state: State): TurnEvent[] {
  switch (disturbance) {
    case 'cancel-first':
      return [{ type: 'cancel-requested', v: 1, cause: 'person' }]
    case 'time-limit-first':
      return [{ type: 'cancel-requested', v: 1, cause: 'time-limit' }]
    case 'steer-first': {
      const content = [{ type: 'text' as const, text: 'also' }]
      return [{ type: 'input-steered', v: 1, inputs: [{ messageId: newId(state), role: 'user', content }] }]
    }
    case 'none':
    case 'death-before':
    case 'three-deaths-before':
    case 'death-after':
    case 'handed-back':
    case 'fault':
      return []
  }
}

type Commit = PerformedBatch & { foreign: TurnEvent[] }

/** Like the store: if another writer was first, the facts are kept as projected and the intents are dropped. */
function commit(state: State, current: RunState, { facts, intents, foreign }: Commit): void {
  const { run, turn } = current
  const context = { runId: run.id, at: state.now, holdsConversation: true }
  if (foreign.length > 0) {
    const decided = decideCommit(turn, { facts }, { fence: run.fence, context })
    write(state, current, [...foreign.map((event) => ({ event, at: state.now, changes: [] })), ...decided.facts])
    return
  }
  const decided = decideCommit(turn, { facts, intents }, { fence: run.fence, context })
  write(state, current, [...decided.facts, ...decided.intents])
}

function onePersonMove(state: State, current: RunState, move: PersonMove = 'deny'): State {
  if (move === 'cancel') return cancelHere(state, current, 'person')
  if (move === 'expire') return cancelHere(state, current, 'expiry')
  const undecided = undecidedCalls(current.turn)
  const verdicts = undecided.map((call, index) => verdictOf(call.callId, move, index))
  const decided = decideApproval(undecided, verdicts)
  if ('refusal' in decided) throw new Error(decided.refusal)
  const { decisions } = decided
  const { stepId, answerId, resultsId, calls } = current.turn.step!
  const continuedBy = runIdOf(state.runs.length + 1)
  const answered: TurnEvent = { type: 'approval-answered', v: 1, decisions, responseId: newId(state), continuedBy }
  const context = { runId: current.run.id, at: state.now, holdsConversation: true }
  write(state, current, [{ event: answered, at: state.now, changes: project(current.turn, answered, context) }])
  const bare = calls.map(({ decision: _, startedBy: __, outcome: ___, ...call }) => call)
  const content = [{ type: 'text' as const, text: 'and then' }]
  const followUps =
    move === 'approve-with-follow-up' ? [{ messageId: newId(state), role: 'user' as const, content }] : []
  const accepted: Accepted = {
    type: 'input-accepted',
    v: 1,
    inputs: [...current.turn.pending, ...followUps],
    settings: current.turn.settings,
    continues: { runId: current.run.id, stepId, answerId, resultsId, calls: bare, decisions },
  }
  return openRun(state, accepted, move === 'approve-then-cancel' ? 'created' : 'running')
}

/** A queued or waiting run has no holder: the cancel ends it in its own commit. */
function cancelHere(state: State, current: RunState, cause: 'person' | 'expiry'): State {
  const isWaiting = current.turn.phase === 'waiting'
  const response = isWaiting ? { responseId: newId(state) } : {}
  const context = { runId: current.run.id, at: state.now, holdsConversation: current.turn.step !== undefined }
  const cancel: TurnEvent = { type: 'cancel-requested', v: 1, cause, ...response }
  const { facts, intents } = decideCommit(current.turn, { facts: [cancel] }, { fence: current.run.fence, context })
  write(state, current, [...facts, ...intents])
  return state
}

function verdictOf(callId: string, move: PersonMove, index: number): Verdict {
  const isApproval = move.startsWith('approve') || (move === 'mixed' && index % 2 === 0)
  if (isApproval) return { callId, verdict: 'approve' }
  if (move === 'result') return { callId, verdict: 'result', status: 'success', output: 'by hand' }
  return { callId, verdict: 'deny', reason: 'no' }
}

type Accepted = Extract<TurnEvent, { type: 'input-accepted' }>

function openRun(state: State, event: Accepted, status: 'created' | 'running' = 'running'): State {
  const isClaimed = status === 'running'
  const run: Run = {
    id: runIdOf(state.runs.length + 1),
    organizationId: 'org-1',
    agentId: 'agent-1',
    conversationId: CONVERSATION,
    status,
    waiting: false,
    background: false,
    metadata: {},
    createdAt: state.now,
    fence: isClaimed ? 1 : 0,
    nextSeq: 2,
    deaths: 0,
    chunkBound: 0,
    ...defined({
      startedAt: isClaimed ? state.now : undefined,
      leaseOwner: isClaimed ? ('worker-1' as const) : undefined,
      continues: event.continues ? event.continues.runId : undefined,
    }),
  }
  state.runs.push({ run, events: [{ seq: 1, at: state.now, event }], turn: foldTurn([event]) })
  return state
}

function write(state: State, current: RunState, entries: readonly ProjectedEvent[]): void {
  for (const { event, at, changes } of entries) {
    current.events.push({ seq: current.events.length + 1, at, event })
    current.turn = apply(current.turn, event)
    for (const change of changes) writeRow(state, current, change)
  }
  current.run = { ...current.run, nextSeq: current.events.length + 1 }
}

function writeRow(state: State, current: RunState, change: Change): void {
  if (change.type === 'add-message')
    state.messages.push({ ...change.message, conversationId: CONVERSATION, position: state.messages.length })
  if (change.type === 'change-run') current.run = changed(current.run, change.change)
}

function changed(run: Run, { expiresAt, releaseLease, ...change }: RunChange): Run {
  const next: Run = { ...run, ...change }
  if (expiresAt === null) delete next.expiresAt
  else if (expiresAt !== undefined) next.expiresAt = expiresAt
  if (releaseLease) delete next.leaseOwner
  return next
}

const copy = (state: State): State => ({
  ...state,
  runs: state.runs.map(({ run, events, turn }) => ({ run, events: [...events], turn })),
  messages: [...state.messages],
  used: { ...state.used },
})

function take<Move>(moves: readonly Move[], state: State, of: 'model' | 'tools' | 'commits' | 'people') {
  return moves[state.used[of]++]
}

const newId = (state: State): MessageId => `message-${++state.used.ids}`
const runIdOf = (number: number): RunId => `run-${number}`
