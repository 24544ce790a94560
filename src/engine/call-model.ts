import { answerFailure, cutContent, type Draft, type Part } from '../core/answer.ts'
import type { AttemptState } from '../core/attempt-state.ts'
import type { Chunk } from '../core/chunk.ts'
import { defined } from '../core/defined.ts'
import type { TurnEvent } from '../core/event.ts'
import type { Failure } from '../core/failure.ts'
import { toModelHistory } from '../core/history.ts'
import { type MessageId, type RunId, stepOfAnswer } from '../core/id.ts'
import { type InputBody, inputBody, type MessageBody } from '../core/message.ts'
import { notesFrom } from '../core/model-note.ts'
import { narrow } from '../core/narrowed-view.ts'
import type { ToolCall } from '../core/tool-call.ts'
import { allowedTools, argumentsSetBy, constraintRefusal, mustCall } from '../core/tool-rules.ts'
import { callHistoryOf, requiredNow, type Turn } from '../core/turn.ts'
import type { ToolSpec } from '../ports/model.ts'
import type { Randomness } from '../ports/randomness.ts'
import type { RunStream } from '../ports/streams.ts'
import { type AttemptDeps, appliedNotes, askModel, type ResolvedTarget, resolveTarget } from './attempt.ts'
import { type CallStream, newCallStream } from './call-stream.ts'
import { type AttemptFailed, failAttempt } from './fail-attempt.ts'
import type { Journal } from './journal.ts'
import { makeRoom, type SentSize, windowIn } from './overflow.ts'
import { resolveCalls } from './resolve-calls.ts'
import type { StopCause } from './stop.ts'
import type { TurnPrompt } from './turn-prompt.ts'

export type ModelCaller = AttemptDeps & {
  runId: RunId
  prompt: TurnPrompt
  tools: readonly ToolSpec[]
  resolve: Omit<Parameters<typeof resolveCalls>[1], 'newCallId'>
  randomness: Randomness
  stream: RunStream
  /** Of these calls, those that a person was asked about in this conversation. */
  askedAbout(callIds: readonly string[]): Promise<ReadonlyMap<string, unknown>>
  /** Why the signal aborted. */
  stopCause(): StopCause | undefined
}

/**
 * Makes one attempt at one target and returns its facts. No facts: the turn was stopped before there was anything to
 * keep.
 */
export async function callModel(notBefore: number, journal: Journal, caller: ModelCaller): Promise<TurnEvent[]> {
  const { clock, signal } = caller
  if (notBefore > clock.now()) await clock.sleep(notBefore - clock.now(), signal)
  const request = newAnswerRequest(journal.turn, caller)
  const attempt = signal.aborted ? undefined : await makeAttempt(request, journal)
  const isStopped = signal.aborted && !attempt?.draft?.finish
  if (attempt?.draft && !attempt.failure && !isStopped) {
    const settled = settleCalls(await resolvedCalls(attempt.draft, request), request)
    return answerEvents({ ...attempt, calls: settled.calls }, await settleStream(settled.request, attempt.draft))
  }
  const answer = await settleStream(request, attempt?.draft)
  if (!attempt || isStopped) return eventsAfterStop(answer)
  return attempt.failure ? eventsAfterFailure(attempt.failure, attempt, answer) : []
}

const settleStream = async (request: ModelAnswerRequest, draft: Draft | undefined): Promise<AttemptedAnswer> => ({
  ...request,
  streamedTo: request.isStreamed ? await request.caller.stream.settle() : 0,
  draft,
})

async function resolvedCalls(draft: Draft, { turn, caller }: ModelAnswerRequest): Promise<ToolCall[]> {
  const calls = resolveCalls(draft.calls, {
    ...caller.resolve,
    ...constraintOf(turn, caller),
    isStrict: turn.settings.modelSettings?.strictTools ?? false,
    newCallId: () => newCallId(caller),
  })
  return withUnaskedIds(calls, caller)
}

/**
 * Renames the calls whose ids a person was asked about before. Clients approve by call id, and a late approval of the
 * earlier call must not match another one.
 */
async function withUnaskedIds(calls: ToolCall[], caller: ModelCaller): Promise<ToolCall[]> {
  const guarded = calls.filter(({ needsApproval, refusal }) => needsApproval && !refusal).map(({ callId }) => callId)
  if (guarded.length === 0) return calls
  const asked = await caller.askedAbout(guarded)
  return calls.map((call) => (asked.has(call.callId) ? { ...call, callId: newCallId(caller) } : call))
}

const newCallId = ({ randomness }: ModelCaller) => `call-${randomness.uuid()}`

/** Completes the streamed calls. If the stream holds others than will be stored, the answer begins again in the stream. */
function settleCalls(
  calls: ToolCall[],
  request: ModelAnswerRequest,
): { calls: ToolCall[]; request: ModelAnswerRequest } {
  const { callStream, caller } = request
  const rest = callStream.restOf(calls)
  if (rest !== 'differs') {
    caller.stream.write(rest, 0)
    return { calls, request }
  }
  return {
    calls: calls.map((call) => (callStream.isStreamed(call.callId) ? { ...call, callId: newCallId(caller) } : call)),
    request: startAgain(request, 'calls-rewritten'),
  }
}

/** Resets what was streamed of the answer; with its event it is streamed whole, under a new id. */
function startAgain(request: ModelAnswerRequest, reason: string): ModelAnswerRequest {
  const { answerId, caller } = request
  caller.stream.write([{ message_type: 'message_reset', id: answerId, reason }], 0)
  return { ...request, answerId: newAnswerId(caller), isStreamed: false }
}

/** The request for an answer, or for the rest of one. */
type ModelAnswerRequest = {
  turn: Turn
  state: AttemptState
  answerId: MessageId
  /** Whether the text is streamed to subscribers as it arrives. */
  isStreamed: boolean
  callStream: CallStream
  caller: ModelCaller
}

type AttemptedAnswer = ModelAnswerRequest & {
  /** The number of the last chunk streamed to subscribers. */
  streamedTo: number
  draft: Draft | undefined
}

function newAnswerRequest(turn: Turn, caller: ModelCaller): ModelAnswerRequest {
  const state = turn.attempts.answer
  const answerId: MessageId = state.kept?.answerId ?? newAnswerId(caller)
  // A continuation is streamed only when complete: if it fails, a reset would also remove the kept text.
  const isStreamed = turn.settings.streamTokens && !state.kept
  const callStream = newCallStream({ answerId, settings: turn.settings, ...caller.resolve })
  return { turn, state, answerId, isStreamed, callStream, caller }
}

const newAnswerId = ({ randomness }: ModelCaller): MessageId => `message-${randomness.uuid()}`

/** On cancel, text that subscribers have read stays in the history; without token streaming they have read none. */
function eventsAfterStop(answer: AttemptedAnswer): TurnEvent[] {
  const cause = answer.caller.stopCause()
  const wasRead = wasStreamed(answer) || answer.state.kept !== undefined
  const cut = wasRead && cause === 'cancel' ? cutAnswer(answer) : []
  // On shutdown write no reset: the next worker finds the partial text and resets it.
  if (cut.length === 0 && cause !== 'leaving') resetStream(answer, 'cancelled')
  // The text is kept and the calls are not: a reset cannot tell them apart.
  if (cut.length === 0 || !answer.callStream.hasStreamed()) return cut
  return cutAnswer({ ...answer, ...startAgain(answer, 'cancelled'), streamedTo: 0 })
}

function eventsAfterFailure(failure: Failure, attempt: Attempt, answer: AttemptedAnswer): TurnEvent[] {
  const { state, answerId, streamedTo } = answer
  const { draft } = attempt
  const failed = failedAttempt(failure, attempt, answer)
  if (failure.kind === 'text-truncated' && draft) {
    if (isAtOwnLimit(answer)) return answerEvents(attempt, answer)
    if (failed.remedy === 'continue') return [{ ...failed, kept: { answerId, content: draft.content, streamedTo } }]
    // The ladder is exhausted: the truncated text becomes the answer, with finish `length`.
    if (failed.remedy === 'give-up') return answerEvents(attempt, answer)
  }
  resetStream(answer, failure.kind)
  return failed.remedy === 'give-up' && state.kept ? [keptAnswer(answer), failed] : [failed]
}

/** The application set the limit that cut the text, so the text is not continued. */
const isAtOwnLimit = ({ turn, state }: AttemptedAnswer): boolean => {
  const limit = turn.settings.modelSettings?.maxOutputTokens
  return limit !== undefined && (state.outputCap ?? limit) >= limit
}

function answerEvents({ draft, resolved, wasCut, calls = [] }: Attempt, answer: AttemptedAnswer): TurnEvent[] {
  if (!draft) return []
  const { turn, state, caller } = answer
  const { randomness } = caller
  const choice = resolved?.choice
  const granted = choice?.type === 'granted' ? choice.grant : undefined
  const isOwnRefusal = !granted || state.adjustedFor === granted.credentialId
  const window = turn.windows[turn.settings.targets[state.target] ?? '']
  const notes = notesFrom(state.adjustments, { isOwnRefusal, ...defined({ window }) })
  return [
    {
      type: 'answer-received',
      v: 1,
      resultsId: `message-${randomness.uuid()}`,
      content: draft.content,
      calls,
      finish: draft.finish ?? 'stop',
      usage: draft.usage,
      ...answerOrigin(answer),
      ...defined({
        credentialId: granted ? granted.credentialId : undefined,
        clearsCooldown: choice?.type === 'granted' && choice.hasCooldown ? (true as const) : undefined,
        notes,
        notesApplied: resolved && appliedNotes(resolved),
        settingsLeftOut: draft.settingsLeftOut,
        wasCut,
      }),
    },
  ]
}

/** The ladder is exhausted, but the kept text was read and paid for: it becomes the answer. */
const keptAnswer = (answer: AttemptedAnswer): TurnEvent => ({
  type: 'answer-received',
  v: 1,
  resultsId: `message-${answer.caller.randomness.uuid()}`,
  content: [],
  calls: [],
  finish: 'length',
  usage: { promptTokens: 0, completionTokens: 0 },
  ...answerOrigin(answer),
})

function cutAnswer(answer: AttemptedAnswer): TurnEvent[] {
  const content = answer.draft ? cutContent(answer.draft) : []
  if (content.length === 0 && !answer.state.kept) return []
  return [{ type: 'answer-cut', v: 1, content, ...answerOrigin(answer) }]
}

/** The fields that every event about an answer has. */
const answerOrigin = ({ answerId, state, turn, streamedTo }: AttemptedAnswer) => ({
  answerId,
  stepId: stepOfAnswer(answerId),
  target: state.target,
  inputsRead: turn.pending.length,
  streamedTo,
  ...defined({ isRest: state.kept ? (true as const) : undefined }),
})

const wasStreamed = ({ isStreamed, draft, callStream }: AttemptedAnswer): boolean =>
  isStreamed && ((draft?.content.length ?? 0) > 0 || callStream.hasStreamed())

/** Tells subscribers to discard the partial text of a failed attempt. */
function resetStream(answer: AttemptedAnswer, reason: string): void {
  const { answerId, caller } = answer
  if (wasStreamed(answer)) caller.stream.write([{ message_type: 'message_reset', id: answerId, reason }], 0)
}

type Attempt = {
  draft?: Draft
  resolved?: ResolvedTarget
  failure?: Failure
  /** The calls of a usable answer. */
  calls?: ToolCall[]
  canCompact: boolean
  /** Absent: no request was sent. */
  size?: SentSize
  wasCut?: true
}

/** Undefined: the turn was stopped before the request was sent. */
async function makeAttempt(request: ModelAnswerRequest, journal: Journal): Promise<Attempt | undefined> {
  const { turn, state, isStreamed, caller } = request
  const handle = turn.settings.targets[state.target] ?? ''
  const resolved = await resolveTarget(handle, state, caller)
  const history = narrow(await journal.history(), turn.narrowed, { bodyOf: (body) => body, wrap: (body) => body })
  await journal.requireLease()
  // Reading may take a while: a turn that was cancelled or lost meanwhile must not call the model.
  if (caller.signal.aborted) return undefined
  const prompts = [...extraPrompt(state), ...reminder(turn)]
  const messages = toModelHistory([...history, ...turn.pending.map(inputBody), ...prompts])
  const settings = turn.settings.modelSettings
  const question = { system: caller.prompt.text, messages, ...offeredTools(turn, caller), ...defined({ settings }) }
  if (!('target' in resolved)) return { failure: resolved, canCompact: false }
  const room = makeRoom(question, {
    turn,
    window: windowIn(turn, handle, resolved.facts.window),
    prompts: prompts.length,
  })
  const { content, canCompact, size } = room
  if (room.overflow) return { resolved, failure: room.overflow, canCompact }
  const onPart = (part: Part) => {
    const delta = isStreamed ? deltaChunk(request, part) : undefined
    if (delta) caller.stream.write([delta], 0)
  }
  const draft = await askModel(content, { resolved, state }, { deps: caller, onPart })
  const failure = state.kept && hasNothingToAdd(draft) ? undefined : answerFailure(draft)
  return {
    draft,
    resolved,
    ...defined({ failure, wasCut: content === question ? undefined : (true as const) }),
    canCompact,
    size,
  }
}

/** Asked to continue, the model added nothing: the text was complete. */
const hasNothingToAdd = (draft: Draft): boolean =>
  draft.finish === 'stop' && answerFailure(draft)?.kind === 'empty-answer'

/** Messages for this request only, not stored: kept text to continue, and an instruction. */
function extraPrompt({ kept, spent }: AttemptState): MessageBody[] {
  const userMessage = (text: string): InputBody => ({ role: 'user', content: [{ type: 'text', text }] })
  if (kept) return [{ role: 'assistant', content: kept.content, calls: [] }, userMessage(CONTINUE_PROMPT)]
  return spent.includes('prompt-again') ? [userMessage(ANSWER_NOW_PROMPT)] : []
}

/** Reminds a model that tried to end of the tools it must call first. */
function reminder(turn: Turn): MessageBody[] {
  const missing = turn.step?.calls.length === 0 && turn.pending.length === 0 ? requiredNow(turn) : []
  if (missing.length === 0) return []
  const text = `You have not finished: call ${missing.join(', ')} before you end your turn.`
  return [{ role: 'user', content: [{ type: 'text', text }] }]
}

/** The agent's tools, limited to those its rules allow now. */
function offeredTools(turn: Turn, { tools, resolve }: ModelCaller): { tools: readonly ToolSpec[]; mustCall?: true } {
  const rules = turn.settings.toolRules
  if (!rules) return { tools }
  const called = callHistoryOf(turn)
  const allowed = allowedTools(resolve.allowed, rules, called)
  const offered = tools.filter(({ name }) => allowed.includes(name))
  return { tools: offered, ...defined({ mustCall: mustCall(allowed, rules, called) ? (true as const) : undefined }) }
}

/** Checks the calls of one answer in order; the outputs of earlier calls are not known yet. */
function constraintOf(turn: Turn, { resolve }: ModelCaller): Pick<typeof resolve, 'constraint' | 'setArguments'> {
  const rules = turn.settings.toolRules
  if (!rules) return {}
  const called = callHistoryOf(turn)
  const after = (before: readonly string[]) => (before.length === 0 ? called : { tools: [...called.tools, ...before] })
  return {
    setArguments: (tool, before) => argumentsSetBy(rules, tool, after(before)),
    constraint(tool, before) {
      const now = after(before)
      const allowed = allowedTools(resolve.allowed, rules, now)
      return allowed.includes(tool) ? undefined : constraintRefusal(tool, allowed)
    },
  }
}

const CONTINUE_PROMPT =
  'Your answer reached its length limit. Go on exactly where it stops, with the very next word. Repeat nothing and do not comment on this.'
const ANSWER_NOW_PROMPT =
  'Your last answer had no text and called no tool. Answer the conversation above now, or call the tool you need.'

function failedAttempt(failure: Failure, attempt: Attempt, { turn, caller }: ModelAnswerRequest): AttemptFailed {
  const { resolved, canCompact, draft, size } = attempt
  return failAttempt(
    {
      failure,
      purpose: 'answer',
      state: turn.attempts.answer,
      targets: turn.settings.targets,
      canCompact,
      ...defined({ resolved, size, usage: draft?.usage, settingsLeftOut: draft?.settingsLeftOut }),
    },
    turn,
    caller,
  )
}

function deltaChunk({ answerId: id, callStream }: ModelAnswerRequest, part: Part): Chunk | undefined {
  const call = callStream.take(part)
  if (part.type === 'text-delta') return { message_type: 'assistant_message', id, content: part.text }
  if (part.type === 'reasoning-delta') return { message_type: 'reasoning_message', id, reasoning: part.text }
  return call
}
