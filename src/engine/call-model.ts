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

export type ModelCaller = Asker & {
  runId: RunId
  system: string
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
  const { clock, signal, stream, randomness } = caller
  if (notBefore > clock.now()) await clock.sleep(notBefore - clock.now(), signal)

  const { turn } = journal
  const way = turn.ways.answer
  const answerId: MessageId = way.kept?.answerId ?? `message-${randomness.uuid()}`
  // The rest of a text is told when it is whole: an attempt that fails must not take back what stays.
  const isStreamed = turn.settings.streamTokens && !way.kept
  const attempt = signal.aborted ? undefined : await makeAttempt(answerId, { turn, isStreamed, journal, caller })
  const streamedTo = isStreamed ? await stream.settle() : 0
  const draft = attempt?.draft
  const answer = {
    ...{ target: way.target, inputsRead: turn.pending.length, streamedTo },
    ...(way.kept ? { isRest: true as const } : {}),
  }
  const wasSeen = isStreamed && draft !== undefined && draft.content.length > 0
  const abandon = (reason: string) =>
    wasSeen && stream.write([{ message_type: 'message_reset', id: answerId, reason }], 0)

  if (signal.aborted && !draft?.finish) {
    // On cancel, text a watcher has read stays in the history; without token streaming nobody has read anything.
    const wasRead = wasSeen || way.kept !== undefined
    const isKept = wasRead && caller.stopCause() === 'cancel'
    const kept = isKept ? cut(draft, { answerId, stepId: stepOfAnswer(answerId), ...answer }) : []
    // One that leaves says nothing: whoever goes on finds the dangling text and takes it back.
    if (kept.length === 0 && caller.stopCause() !== 'leaving') abandon('cancelled')
    return kept
  }
  if (attempt?.failure) {
    const failed = failedAttempt(attempt.failure, { attempt, turn, caller })
    const truncated = attempt.failure.kind === 'text-truncated' && draft !== undefined
    if (truncated && failed.remedy === 'continue')
      return [{ ...failed, kept: { answerId, content: draft.content, streamedTo } }]
    // Continued often enough: it is an answer, and one that says it is not whole.
    if (!truncated || failed.remedy !== 'give-up') {
      abandon(attempt.failure.kind)
      return failed.remedy === 'give-up' && way.kept ? [...keptAnswer(way, turn, caller), failed] : [failed]
    }
  }
  if (!attempt || !draft) return []
  const newCallId = () => `call-${randomness.uuid()}` as const
  const calls = resolveCalls(draft.calls, { ...caller.resolve, ...constraintOf(turn, caller), newCallId })
  const choice = attempt.place?.choice
  const notes = notesOf(way)
  return [
    {
      ...{ type: 'answer-received', v: 1, stepId: stepOfAnswer(answerId), answerId },
      resultsId: `message-${randomness.uuid()}`,
      ...{ content: draft.content, calls, finish: draft.finish ?? 'stop', usage: draft.usage },
      ...answer,
      ...(choice?.type === 'granted' ? { credentialId: choice.grant.credentialId } : {}),
      ...(choice?.type === 'granted' && choice.hasCooldown ? { clearsCooldown: true } : {}),
      ...(notes ? { notes } : {}),
    },
  ]
}

type Attempt = { draft?: Draft; place?: Place; failure?: Failure; canCompact: boolean }
type AttemptParts = { turn: Turn; isStreamed: boolean; journal: Journal; caller: ModelCaller }

async function makeAttempt(answerId: MessageId, parts: AttemptParts): Promise<Attempt | undefined> {
  const { turn, isStreamed, journal, caller } = parts
  const way = turn.ways.answer
  const place = await findPlace(turn.settings.targets[way.target] ?? '', way, caller)
  const told = await journal.history()
  await journal.requireHeld()
  // Reading may take a while: a turn that was cancelled or lost meanwhile must not ask the model any more.
  if (caller.signal.aborted) return undefined
  const messages = toModelHistory([...told, ...turn.pending.map(inputBody), ...aside(way), ...reminder(turn)])
  const question = { system: caller.system, messages, ...offerOf(turn, caller) }
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

function failedAttempt(
  failure: Failure,
  { attempt, turn, caller }: { attempt: Attempt; turn: Turn; caller: ModelCaller },
): AttemptFailed {
  const { place, canCompact, draft } = attempt
  return failAttempt(
    {
      ...{ failure, purpose: 'answer', way: turn.ways.answer, targets: turn.settings.targets, canCompact },
      ...(place ? { place } : {}),
      ...(draft ? { usage: draft.usage } : {}),
    },
    turn,
    caller,
  )
}

/** Nothing is left to try, but what was said before the limit was read by people and paid for: it stays. */
function keptAnswer(way: Way, turn: Turn, { randomness }: ModelCaller): TurnEvent[] {
  return [
    {
      ...{ type: 'answer-received', v: 1, stepId: stepOfAnswer(way.kept!.answerId), answerId: way.kept!.answerId },
      resultsId: `message-${randomness.uuid()}`,
      ...{ content: [], calls: [], finish: 'length', usage: { promptTokens: 0, completionTokens: 0 } },
      ...{ target: way.target, inputsRead: turn.pending.length, streamedTo: 0, isRest: true },
    },
  ]
}

/** A way that ended well after a remedy of this kind is taken at once the next time. */
function notesOf({ shape, window }: Way): ModelNotes | undefined {
  if (!shape.textOnlyResults && window === undefined) return undefined
  return { ...(shape.textOnlyResults ? { textOnlyResults: true } : {}), ...(window === undefined ? {} : { window }) }
}

type Cut = Omit<Extract<TurnEvent, { type: 'answer-cut' }>, 'type' | 'v' | 'content'>

function cut(draft: Draft | undefined, place: Cut): TurnEvent[] {
  const content = draft ? cutContent(draft) : []
  if (content.length === 0 && !place.isRest) return []
  return [{ type: 'answer-cut', v: 1, content, ...place }]
}

function deltaChunk(id: MessageId, part: Part): Chunk | undefined {
  if (part.type === 'text-delta') return { message_type: 'assistant_message', id, content: part.text }
  if (part.type === 'reasoning-delta') return { message_type: 'reasoning_message', id, reasoning: part.text }
  return undefined
}
