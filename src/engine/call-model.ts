import { cutContent, type Draft, faultOf, newDraft, type Part, takePart } from '../core/answer.ts'
import type { Chunk } from '../core/chunk.ts'
import type { TurnEvent } from '../core/event.ts'
import type { Failure } from '../core/failure.ts'
import { toModelHistory } from '../core/history.ts'
import type { MessageId, StepId } from '../core/id.ts'
import { inputBody } from '../core/message.ts'
import { recover } from '../core/recovery.ts'
import { parseTarget } from '../core/target.ts'
import type { Turn } from '../core/turn.ts'
import type { Clock } from '../ports/clock.ts'
import type { ModelProvider, Models, ToolSpec } from '../ports/model.ts'
import type { Randomness } from '../ports/randomness.ts'
import type { RunStream } from '../ports/streams.ts'
import type { Journal } from './journal.ts'
import { resolveCalls } from './resolve-calls.ts'

export type ModelCaller = {
  models: Models
  system: string
  tools: readonly ToolSpec[]
  resolve: Omit<Parameters<typeof resolveCalls>[1], 'newCallId'>
  clock: Clock
  randomness: Randomness
  stream: RunStream
  /** Aborted on cancel, shutdown and loss of the lease. */
  signal: AbortSignal
  /** Why the signal aborted. */
  stopCause(): StopCause | undefined
}

/** `leaving`: this process gives the turn up (shutdown, lost lease); somebody else will go on with it. */
export type StopCause = 'cancel' | 'time-limit' | 'fault' | 'leaving'

/**
 * One attempt at one target, as the facts it leaves. No facts: it was stopped before anything worth keeping happened.
 */
export async function callModel(
  { target, notBefore }: { target: number; notBefore: number },
  journal: Journal,
  caller: ModelCaller,
): Promise<TurnEvent[]> {
  const { clock, signal, stream, randomness } = caller
  if (notBefore > clock.now()) await clock.sleep(notBefore - clock.now(), signal)
  if (signal.aborted) return []

  const turn = journal.turn
  const answerId: MessageId = `message-${randomness.uuid()}`
  const draft = await attempt(answerId, { target, turn, journal, caller })
  const streamedTo = turn.settings.streamTokens ? await stream.settle() : 0
  const place = { target, inputsRead: turn.pending.length, streamedTo }

  const wasSeen = turn.settings.streamTokens && draft.content.length > 0
  const abandon = (reason: string) =>
    wasSeen && stream.write([{ message_type: 'message_reset', id: answerId, reason }], 0)

  if (signal.aborted && !draft.finish) {
    // On cancel, text a watcher has read stays in the history; without token streaming nobody has read anything.
    const kept = wasSeen && caller.stopCause() === 'cancel' ? cut(draft, answerId, { ...place, randomness }) : []
    // One that leaves says nothing: whoever goes on finds the dangling text and takes it back.
    if (kept.length === 0 && caller.stopCause() !== 'leaving') abandon('cancelled')
    return kept
  }
  const failure = faultOf(draft)
  if (failure) {
    abandon(failure.kind)
    return [failedAttempt(failure, { target, turn, clock })]
  }
  const calls = resolveCalls(draft.calls, { ...caller.resolve, newCallId: () => `call-${randomness.uuid()}` })
  const answer: TurnEvent = {
    type: 'answer-received',
    v: 1,
    stepId: newStepId(randomness),
    answerId,
    resultsId: `message-${randomness.uuid()}`,
    content: draft.content,
    calls,
    finish: draft.finish ?? 'stop',
    usage: draft.usage,
    ...place,
  }
  return [answer]
}

type AttemptParts = { target: number; turn: Turn; journal: Journal; caller: ModelCaller }

async function attempt(answerId: MessageId, { target, turn, journal, caller }: AttemptParts): Promise<Draft> {
  const draft = newDraft()
  const handle = turn.settings.targets[target] ?? ''
  const parsed = parseTarget(handle)
  const provider = parsed && caller.models.find(parsed.provider)
  if (!provider) {
    draft.failure = { kind: 'model-unknown', detail: `no provider serves "${handle}"` }
    return draft
  }
  const told = await journal.history()
  // Reading may take a while: a turn that was cancelled or lost meanwhile must not ask the model any more.
  if (caller.signal.aborted) return draft
  const messages = toModelHistory([...told, ...turn.pending.map(inputBody)])
  const request = { model: parsed.model, system: caller.system, messages, tools: caller.tools }
  const take = (part: Part) => {
    takePart(draft, part)
    if (!turn.settings.streamTokens) return
    const delta = deltaChunk(answerId, part)
    if (delta) caller.stream.write([delta], 0)
  }
  await untilAborted(consume(provider, request, { signal: caller.signal, take }), caller.signal)
  return draft
}

type Consumer = { signal: AbortSignal; take(part: Part): void }

/** Takes what the provider says. One that throws has failed its attempt, not the run. */
async function consume(
  provider: ModelProvider,
  request: Parameters<ModelProvider['stream']>[0],
  { signal, take }: Consumer,
): Promise<void> {
  try {
    for await (const part of provider.stream(request, { signal })) {
      // After the abort nobody listens: the attempt is over, whatever still arrives.
      if (signal.aborted) return
      take(part)
    }
  } catch (error) {
    if (signal.aborted) return
    const detail = error instanceof Error ? error.message : String(error)
    take({ type: 'failure', failure: { kind: 'unreachable', detail: `the provider broke: ${detail}` } })
  }
}

/** Resolves with the work or at the abort, whichever is first: a provider that is deaf to it is left behind. */
function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = () => {
      signal.removeEventListener('abort', finish)
      resolve()
    }
    signal.addEventListener('abort', finish)
    work.then(finish, reject)
  })
}

function deltaChunk(id: MessageId, part: Part): Chunk | undefined {
  if (part.type === 'text-delta') return { message_type: 'assistant_message', id, content: part.text }
  if (part.type === 'reasoning-delta') return { message_type: 'reasoning_message', id, reasoning: part.text }
  return undefined
}

type Place = { target: number; inputsRead: number; streamedTo: number; randomness: Randomness }

function cut(draft: Draft, answerId: MessageId, { randomness, ...place }: Place): TurnEvent[] {
  const content = cutContent(draft)
  if (content.length === 0) return []
  return [{ type: 'answer-cut', v: 1, stepId: newStepId(randomness), answerId, content, ...place }]
}

function failedAttempt(
  failure: Failure,
  { target, turn, clock }: { target: number; turn: Turn; clock: Clock },
): TurnEvent {
  const targetsLeft = turn.settings.targets.length - 1 - target
  const recovery = recover(failure, turn.spent, { targetsLeft })
  const retryAt = recovery.remedy === 'give-up' ? 0 : clock.now() + recovery.delayMs
  return { type: 'attempt-failed', v: 1, target, failure, remedy: recovery.remedy, retryAt }
}

const newStepId = (randomness: Randomness): StepId => `step-${randomness.uuid()}`
