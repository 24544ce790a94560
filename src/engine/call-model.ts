import { cutContent, type Draft, faultOf, type Part } from '../core/answer.ts'
import type { Chunk } from '../core/chunk.ts'
import type { TurnEvent } from '../core/event.ts'
import type { Failure } from '../core/failure.ts'
import { toModelHistory } from '../core/history.ts'
import { type MessageId, type RunId, stepOfAnswer } from '../core/id.ts'
import { type InputBody, inputBody, type MessageBody } from '../core/message.ts'
import type { ModelNotes } from '../core/target.ts'
import { allowedTools, constraintRefusal, mustCall } from '../core/tool-rules.ts'
import { calledIn, requiredNow, type Turn } from '../core/turn.ts'
import type { Way } from '../core/way.ts'
import type { ToolSpec } from '../ports/model.ts'
import type { Randomness } from '../ports/randomness.ts'
import type { RunStream } from '../ports/streams.ts'
import { type Asker, ask, findPlace, type Place } from './attempt.ts'
import { type AttemptFailed, failAttempt } from './fail-attempt.ts'
import type { Journal } from './journal.ts'
import { overflowOf } from './overflow.ts'
import { resolveCalls } from './resolve-calls.ts'
import type { StopCause } from './stop.ts'
import type { TurnPrompt } from './turn-prompt.ts'

export type ModelCaller = Asker & {
  runId: RunId
  prompt: TurnPrompt
  tools: readonly ToolSpec[]
  resolve: Omit<Parameters<typeof resolveCalls>[1], 'newCallId'>
  randomness: Randomness
  stream: RunStream
  /** Why the signal aborted. */
  stopCause(): StopCause | undefined
}

/**
 * One attempt at one target, as the facts it leaves. No facts: it was stopped before anything worth keeping happened.
 */
export async function callModel(notBefore: number, journal: Journal, caller: ModelCaller): Promise<TurnEvent[]> {
  const { clock, signal, stream } = caller
  if (notBefore > clock.now()) await clock.sleep(notBefore - clock.now(), signal)
  const asked = askedFor(journal.turn, caller)
  const attempt = signal.aborted ? undefined : await makeAttempt(asked, journal)
  const streamedTo = asked.isStreamed ? await stream.settle() : 0
  const answer: AttemptedAnswer = { ...asked, streamedTo, draft: attempt?.draft }
  const isStopped = signal.aborted && !attempt?.draft?.finish
  if (!attempt || isStopped) return afterStop(answer)
  return attempt.failure ? afterFailure(attempt.failure, attempt, answer) : answered(attempt, answer)
}

/** An answer that a turn asks for, or the rest of one. */
type AskedAnswer = {
  turn: Turn
  way: Way
  answerId: MessageId
  /** Whether watchers see its text as it comes. */
  isStreamed: boolean
  caller: ModelCaller
}

type AttemptedAnswer = AskedAnswer & {
  /** The number of the last chunk that watchers have seen of it. */
  streamedTo: number
  draft: Draft | undefined
}

function askedFor(turn: Turn, caller: ModelCaller): AskedAnswer {
  const way = turn.ways.answer
  const answerId: MessageId = way.kept?.answerId ?? `message-${caller.randomness.uuid()}`
  // The rest of a text is streamed when it is whole: an attempt that fails must not take back what stays.
  return { turn, way, answerId, isStreamed: turn.settings.streamTokens && !way.kept, caller }
}

/** On cancel, text that watchers have read stays in the history; without token streaming they have read nothing. */
function afterStop(answer: AttemptedAnswer): TurnEvent[] {
  const cause = answer.caller.stopCause()
  const wasRead = wasSeen(answer) || answer.way.kept !== undefined
  const cut = wasRead && cause === 'cancel' ? cutAnswer(answer) : []
  // A process that leaves writes nothing: the next worker finds the dangling text and resets it.
  if (cut.length === 0 && cause !== 'leaving') resetStream(answer, 'cancelled')
  return cut
}

function afterFailure(failure: Failure, attempt: Attempt, answer: AttemptedAnswer): TurnEvent[] {
  const { way, answerId, streamedTo } = answer
  const { draft } = attempt
  const failed = failedAttempt(failure, attempt, answer)
  if (failure.kind === 'text-truncated' && draft) {
    if (failed.remedy === 'continue') return [{ ...failed, kept: { answerId, content: draft.content, streamedTo } }]
    // Continued often enough: it is an answer, and one that says it is not whole.
    if (failed.remedy === 'give-up') return answered(attempt, answer)
  }
  resetStream(answer, failure.kind)
  return failed.remedy === 'give-up' && way.kept ? [keptAnswer(answer), failed] : [failed]
}

function answered({ draft, place }: Attempt, answer: AttemptedAnswer): TurnEvent[] {
  if (!draft) return []
  const { turn, way, caller } = answer
  const { randomness, resolve } = caller
  const newCallId = () => `call-${randomness.uuid()}` as const
  const calls = resolveCalls(draft.calls, { ...resolve, ...constraintOf(turn, caller), newCallId })
  const choice = place?.choice
  const notes = notesOf(way)
  return [
    {
      type: 'answer-received',
      v: 1,
      resultsId: `message-${randomness.uuid()}`,
      content: draft.content,
      calls,
      finish: draft.finish ?? 'stop',
      usage: draft.usage,
      ...originOf(answer),
      ...(choice?.type === 'granted' ? { credentialId: choice.grant.credentialId } : {}),
      ...(choice?.type === 'granted' && choice.hasCooldown ? { clearsCooldown: true } : {}),
      ...(notes ? { notes } : {}),
    },
  ]
}

/** Nothing is left to try, but the text before the limit was read by people and paid for: it stays. */
const keptAnswer = (answer: AttemptedAnswer): TurnEvent => ({
  type: 'answer-received',
  v: 1,
  resultsId: `message-${answer.caller.randomness.uuid()}`,
  content: [],
  calls: [],
  finish: 'length',
  usage: { promptTokens: 0, completionTokens: 0 },
  ...originOf(answer),
})

function cutAnswer(answer: AttemptedAnswer): TurnEvent[] {
  const content = answer.draft ? cutContent(answer.draft) : []
  if (content.length === 0 && !answer.way.kept) return []
  return [{ type: 'answer-cut', v: 1, content, ...originOf(answer) }]
}

/** Where an answer comes from: what every event about it says. */
const originOf = ({ answerId, way, turn, streamedTo }: AttemptedAnswer) => ({
  answerId,
  stepId: stepOfAnswer(answerId),
  target: way.target,
  inputsRead: turn.pending.length,
  streamedTo,
  ...(way.kept ? { isRest: true as const } : {}),
})

const wasSeen = ({ isStreamed, draft }: AttemptedAnswer): boolean => isStreamed && (draft?.content.length ?? 0) > 0

/** Tells watchers to forget the partial text of an attempt that came to nothing. */
function resetStream(answer: AttemptedAnswer, reason: string): void {
  const { answerId, caller } = answer
  if (wasSeen(answer)) caller.stream.write([{ message_type: 'message_reset', id: answerId, reason }], 0)
}

type Attempt = { draft?: Draft; place?: Place; failure?: Failure; canCompact: boolean }

/** Undefined: the turn was stopped before the model could be asked. */
async function makeAttempt(asked: AskedAnswer, journal: Journal): Promise<Attempt | undefined> {
  const { turn, way, answerId, isStreamed, caller } = asked
  const place = await findPlace(turn.settings.targets[way.target] ?? '', way, caller)
  const told = await journal.history()
  await journal.requireHeld()
  // Reading may take a while: a turn that was cancelled or lost meanwhile must not ask the model any more.
  if (caller.signal.aborted) return undefined
  const messages = toModelHistory([...told, ...turn.pending.map(inputBody), ...aside(way), ...reminder(turn)])
  const question = { system: caller.prompt.text, messages, ...offerOf(turn, caller) }
  const room = overflowOf(question, { turn, window: windowOf(way, place) })
  if (!('target' in place)) return { failure: place, canCompact: room.canCompact }
  if (room.overflow) return { place, failure: room.overflow, canCompact: room.canCompact }
  const onPart = (part: Part) => {
    const delta = isStreamed ? deltaChunk(answerId, part) : undefined
    if (delta) caller.stream.write([delta], 0)
  }
  const draft = await ask(question, { place, way }, { asker: caller, onPart })
  const failure = way.kept && isNothingMore(draft) ? undefined : faultOf(draft)
  return { draft, place, ...(failure ? { failure } : {}), canCompact: room.canCompact }
}

const windowOf = (way: Way, place: Place | Failure): number | undefined =>
  way.window ?? ('target' in place ? place.facts.window : undefined)

/** Asked to go on, it had nothing to add: the text was whole. */
const isNothingMore = (draft: Draft): boolean => draft.finish === 'stop' && faultOf(draft)?.kind === 'empty-answer'

/** Words for the model alone, in no history: text it wrote and is to continue, and what it is asked to do. */
function aside({ kept, spent }: Way): MessageBody[] {
  const say = (text: string): InputBody => ({ role: 'user', content: [{ type: 'text', text }] })
  if (kept) return [{ role: 'assistant', content: kept.content, calls: [] }, say(GO_ON)]
  return spent.includes('nudge') ? [say(ANSWER_NOW)] : []
}

/** To a model that was about to end: what its rules want called before. */
function reminder(turn: Turn): MessageBody[] {
  const missing = turn.step?.calls.length === 0 && turn.pending.length === 0 ? requiredNow(turn) : []
  if (missing.length === 0) return []
  const text = `You have not finished: call ${missing.join(', ')} before you end your turn.`
  return [{ role: 'user', content: [{ type: 'text', text }] }]
}

/** The tools of the agent, or those of them that its rules leave for now. */
function offerOf(turn: Turn, { tools, resolve }: ModelCaller): { tools: readonly ToolSpec[]; mustCall?: true } {
  const rules = turn.settings.toolRules
  if (!rules) return { tools }
  const called = calledIn(turn)
  const allowed = allowedTools(resolve.allowed, rules, called)
  const offered = tools.filter(({ name }) => allowed.includes(name))
  return { tools: offered, ...(mustCall(allowed, rules, called) ? { mustCall: true } : {}) }
}

/** For the calls of one answer, in their order: what an earlier one will answer is not known yet. */
function constraintOf(turn: Turn, { resolve }: ModelCaller): Pick<typeof resolve, 'constraint'> {
  const rules = turn.settings.toolRules
  if (!rules) return {}
  const called = calledIn(turn)
  return {
    constraint(tool, before) {
      const now = before.length === 0 ? called : { tools: [...called.tools, ...before] }
      const allowed = allowedTools(resolve.allowed, rules, now)
      return allowed.includes(tool) ? undefined : constraintRefusal(tool, allowed)
    },
  }
}

const GO_ON =
  'Your answer reached its length limit. Go on exactly where it stops, with the very next word. Repeat nothing and do not comment on this.'
const ANSWER_NOW =
  'Your last answer had no text and called no tool. Answer the conversation above now, or call the tool you need.'

function failedAttempt(failure: Failure, attempt: Attempt, { turn, caller }: AskedAnswer): AttemptFailed {
  const { place, canCompact, draft } = attempt
  return failAttempt(
    {
      failure,
      purpose: 'answer',
      way: turn.ways.answer,
      targets: turn.settings.targets,
      canCompact,
      ...(place ? { place } : {}),
      ...(draft ? { usage: draft.usage } : {}),
    },
    turn,
    caller,
  )
}

/** A way that ended well after a remedy of this kind is taken at once the next time. */
function notesOf({ shape, window }: Way): ModelNotes | undefined {
  if (!shape.textOnlyResults && window === undefined) return undefined
  return { ...(shape.textOnlyResults ? { textOnlyResults: true } : {}), ...(window === undefined ? {} : { window }) }
}

function deltaChunk(id: MessageId, part: Part): Chunk | undefined {
  if (part.type === 'text-delta') return { message_type: 'assistant_message', id, content: part.text }
  if (part.type === 'reasoning-delta') return { message_type: 'reasoning_message', id, reasoning: part.text }
  return undefined
}
