import { answerFailure, type Draft } from '../core/answer.ts'
import { newAttemptState } from '../core/attempt-state.ts'
import {
  type CompactionPlan,
  type CompactionSettings,
  DEFAULT_COMPACTION,
  NEXT_MODE,
  type PlanCompactionOptions,
  type PositionedMessage,
  planCompaction,
  summaryTargets,
} from '../core/compaction.ts'
import { DEFAULT_WINDOW } from '../core/context-window.ts'
import { cutText } from '../core/cut-text.ts'
import { defined } from '../core/defined.ts'
import type { Usage } from '../core/event.ts'
import type { Failure } from '../core/failure.ts'
import { type Message, textOf } from '../core/message.ts'
import { narrow } from '../core/narrowed-view.ts'
import { questionIn, withQuestion } from '../core/quoted-question.ts'
import type { Run, RunSettings } from '../core/run.ts'
import type { ModelNotes } from '../core/target.ts'
import { CHARS_PER_TOKEN, estimateAll, fixedTokens } from '../core/token-estimate.ts'
import type { Turn } from '../core/turn.ts'
import type { MessageStore } from '../ports/store.ts'
import { askModel, knownWindow, resolveTarget } from './attempt.ts'
import type { ModelCaller } from './call-model.ts'
import { failAttempt } from './fail-attempt.ts'
import type { Batch, Journal } from './journal.ts'
import { type SentSize, windowIn } from './overflow.ts'
import { nextSummaryPart } from './summary-part.ts'
import { PREFACE } from './transcript.ts'

type CompactContextDeps = { run: Run; journal: Journal; caller: ModelCaller; messages: Pick<MessageStore, 'context'> }

/** Requests that one summary takes at most, roughly. One that is shown in this turn only may cost less. */
const MAX_PARTS = { stored: 64, forTurn: 8 } as const
/** The share of the window that a summary may take, and a question quoted in it. */
const SUMMARY_SHARE = 0.2

/**
 * Makes one attempt to replace the oldest messages with a summary, or to summarize the next part of them. Every call has
 * its result at this point. The summary is an intent: if another writer appended meanwhile, nothing is replaced and the
 * next action is decided again; the parts so far stay.
 */
export async function compactContext(
  notBefore: number,
  { run, journal, caller, messages }: CompactContextDeps,
): Promise<Batch> {
  const { clock, signal } = caller
  if (notBefore > clock.now()) await clock.sleep(notBefore - clock.now(), signal)
  if (signal.aborted) return { facts: [] }
  const { turn } = journal
  const state = turn.attempts.summary
  const targets = summaryTargets(turn.settings)
  const handle = targets[state.target] ?? ''
  const job = await openJob({ run, turn, caller, messages })
  if (job && state.spent.includes('leave-out'))
    return compacted(leftOutText(job.plan), { target: state.target, usage: NO_USAGE }, { job, turn, caller })
  const resolved = await resolveTarget(handle, state, caller)
  const fail = (failure: Failure, more: { draft?: Draft; size?: SentSize } = {}): Batch => {
    const attempt = { failure, purpose: 'summary' as const, state, targets, canCompact: false }
    const found = 'target' in resolved ? { resolved } : {}
    const { draft, size } = more
    return {
      facts: [failAttempt({ ...attempt, ...found, ...defined({ size, usage: draft?.usage }) }, turn, caller)],
    }
  }
  if (!('target' in resolved)) return fail(resolved)

  if (!job)
    return fail({
      kind: 'invalid-request',
      detail: 'no messages can be summarized that would free enough of the context',
    })
  const { plan, settings, forTurn } = job

  // Without a limit of its own, a model is assumed to have the default window.
  const window = windowIn(turn, handle, resolved.facts.window ?? DEFAULT_WINDOW)!
  const partial = partialOf(plan, turn)
  const maxParts = forTurn ? MAX_PARTS.forTurn : MAX_PARTS.stored
  const { content, through, isLast } = nextSummaryPart(plan, { settings, window, partial, caller, maxParts })
  await journal.requireLease()
  if (signal.aborted) return { facts: [] }
  const draft = await askModel(content, { resolved, state }, { deps: caller, onPart: () => {} })
  if (signal.aborted) return { facts: [] }
  const failure = answerFailure(draft)
  const fixed = fixedTokens(content)
  const size = { sent: fixed + estimateAll(content.messages), fixed }
  // A summary truncated by the output limit is still used.
  if (failure && failure.kind !== 'text-truncated') return fail(failure, { draft, size })
  const text = cutText(textOf(draft.content), job.longest)
  const written = { target: state.target, usage: draft.usage }
  if (!isLast) return { facts: [{ type: 'summary-extended', v: 1, text, through, ...written }] }
  const learned = turn.windows[handle]
  const notes = learned === undefined ? undefined : { window: learned }
  return compacted(text, { ...written, ...defined({ notes }) }, { job, turn, caller })
}

const NO_USAGE: Usage = { promptTokens: 0, completionTokens: 0 }

/** What is to be summarized, and for which window. */
type CompactionJob = {
  view: readonly PositionedMessage[]
  plan: CompactionPlan
  settings: CompactionSettings
  isFollowed: boolean
  /** The summary is for a fallback with a smaller window: the primary keeps what it sees. */
  forTurn: boolean
  /** Maximum characters of the summary, and of a question quoted in it. */
  longest: number
}

type OpenJobOptions = Pick<CompactContextDeps, 'run' | 'caller' | 'messages'> & { turn: Turn }

async function openJob({ run, turn, caller, messages }: OpenJobOptions): Promise<CompactionJob | undefined> {
  const settings = turn.settings.compaction ?? DEFAULT_COMPACTION
  const stored = await messages.context(run.conversationId)
  const view = inReadingOrder(
    narrow<PositionedMessage>(stored, turn.narrowed, {
      bodyOf: ({ body }) => body,
      wrap: (body) => ({ position: -1, body }),
    }),
  )
  const { window, isFallback } = await windowToFill(turn, caller)
  const isAskedFor = turn.settings.task === 'compact'
  const isFollowed = isAskedFor || turn.pending.length > 0
  const plan = planBest(view, {
    settings,
    window,
    fixedTokens: fixedTokens({ system: caller.prompt.text, tools: caller.tools }),
    hasNewerInput: isFollowed,
    isRequested: isAskedFor,
  })
  const longest = Math.min(settings.clipChars, Math.floor(CHARS_PER_TOKEN * SUMMARY_SHARE * window))
  return plan && { view, plan, settings, isFollowed, forTurn: isFallback || turn.narrowed !== undefined, longest }
}

/** The window of the target that answers, and whether it is a fallback with a smaller one than the primary has. */
async function windowToFill(turn: Turn, caller: ModelCaller): Promise<{ window: number; isFallback: boolean }> {
  const { answer } = turn.attempts
  const { target } = answer
  const windowOf = async (index: number) => {
    const handle = turn.settings.targets[index] ?? ''
    const state = index === target ? answer : newAttemptState()
    return windowIn(turn, handle, await knownWindow(handle, state, caller)) ?? DEFAULT_WINDOW
  }
  const window = await windowOf(target)
  return { window, isFallback: target > 0 && window < (await windowOf(0)) }
}

/** The summary so far, unless it covers more than is replaced now. */
const partialOf = ({ replaces }: CompactionPlan, { partialSummary }: Turn): Turn['partialSummary'] =>
  partialSummary && partialSummary.through < replaces.to ? partialSummary : undefined

type WrittenBy = { target: number; usage: Usage; notes?: ModelNotes }

/** The event that replaces the messages of the plan. */
function compacted(
  summary: string,
  written: WrittenBy,
  { job, turn, caller }: { job: CompactionJob; turn: Turn; caller: ModelCaller },
): Batch {
  const { plan, forTurn } = job
  const { replaces, contextStart, tokensBefore, tokensAfter } = plan
  const hidden = plan.replaced.filter(({ body }) => body.role !== 'summary').length
  const hides = (turn.narrowed?.hides ?? 0) + hidden
  return {
    facts: [],
    intents: [
      {
        type: 'context-compacted',
        v: 1,
        summaryId: `message-${caller.randomness.uuid()}`,
        text: withLatestMessage(summary, job),
        replaces,
        contextStart,
        tokensBefore,
        tokensAfter,
        ...written,
        ...defined({ forTurn: forTurn ? { hides } : undefined }),
      },
    ],
  }
}

function leftOutText({ replaced, tokensBefore, tokensAfter }: CompactionPlan): string {
  const what = `${replaced.length} messages, about ${Math.max(0, tokensBefore - tokensAfter)} tokens`
  return `[… ${what} left out: no configured model could summarize them. They are stored and can be searched. …]`
}

/**
 * Empties the model's context without a summary; the messages stay stored. A reset also clears the lists; the end of a
 * session adds a notice to them. The newest message is a parameter because
 * the context may already be empty.
 */
export function resetContext(
  view: readonly Message[],
  newest: Message | undefined,
  { randomness }: Pick<ModelCaller, 'randomness'>,
  { task, notice }: Pick<RunSettings, 'task' | 'notice'>,
): Batch {
  const to = newest?.position ?? -1
  const replaces = { from: view[0]?.position ?? to + 1, to }
  const nothing = { usage: { promptTokens: 0, completionTokens: 0 }, tokensBefore: 0, tokensAfter: 0, target: 0 }
  const summaryId = `message-${randomness.uuid()}` as const
  const reset = { type: 'context-compacted', v: 1, summaryId, text: '', replaces, ...nothing } as const
  // The notice takes the next position, and the model does not see it.
  const intent =
    task === 'expire'
      ? { ...reset, contextStart: to + 2, notice: notice ?? '' }
      : { ...reset, contextStart: to + 1, clears: true as const }
  return { facts: [], intents: [intent] }
}

/** The newest summary first, as in a request; it already includes older ones. */
function inReadingOrder(view: readonly PositionedMessage[]): PositionedMessage[] {
  const summary = view.findLast(({ body }) => body.role === 'summary')
  const rest = view.filter(({ body }) => body.role !== 'summary')
  return summary ? [summary, ...rest] : rest
}

function planBest(view: readonly PositionedMessage[], options: PlanCompactionOptions): CompactionPlan | undefined {
  for (let mode = options.settings.mode as CompactionSettings['mode'] | undefined; mode; mode = NEXT_MODE[mode]) {
    const plan = planCompaction(view, { ...options, settings: { ...options.settings, mode } })
    if (plan) return plan
  }
  return undefined
}

/** Quotes the user's latest message if its answer is still in progress and the summary replaces it. */
function withLatestMessage(summary: string, { plan, view, isFollowed, longest }: CompactionJob): string {
  const last = view.findLast(({ body }) => body.role === 'user')
  const isGone = last && last.position < plan.contextStart
  const question = last?.body.role === 'user' ? (isGone ? textOf(last.body.content) : undefined) : findQuoted(view[0])
  const quoted = isFollowed || question === undefined ? undefined : cutText(question, longest)
  return withQuestion(`${PREFACE}\n\n${summary}`, quoted)
}

/** An earlier summary, which is replaced now, may already quote the message. */
const findQuoted = (first: PositionedMessage | undefined): string | undefined =>
  first?.body.role === 'summary' ? questionIn(first.body.text) : undefined
