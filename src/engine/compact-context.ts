import { answerFailure } from '../core/answer.ts'
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
import { defined } from '../core/defined.ts'
import type { Failure } from '../core/failure.ts'
import { toModelHistory } from '../core/history.ts'
import { type Message, textOf } from '../core/message.ts'
import type { Run } from '../core/run.ts'
import type { MessageStore } from '../ports/store.ts'
import { askModel, type RequestContent, resolveTarget } from './attempt.ts'
import type { ModelCaller } from './call-model.ts'
import { failAttempt } from './fail-attempt.ts'
import type { Batch, Journal } from './journal.ts'
import { fixedTokens } from './overflow.ts'
import { INSTRUCTION, PREFACE, transcriptOf } from './transcript.ts'

type CompactContextDeps = { run: Run; journal: Journal; caller: ModelCaller; messages: Pick<MessageStore, 'context'> }

/** Used for models with an unknown window: small enough for nearly all of them. */
const DEFAULT_WINDOW = 128_000

/**
 * Makes one attempt to replace the oldest messages with a summary. Every call has its result at this point. The
 * summary is an intent: if another writer appended meanwhile, nothing is replaced and the next action is decided
 * again.
 */
export async function compactContext(
  notBefore: number,
  { run, journal, caller, messages }: CompactContextDeps,
): Promise<Batch> {
  const { clock, signal, randomness } = caller
  if (notBefore > clock.now()) await clock.sleep(notBefore - clock.now(), signal)
  if (signal.aborted) return { facts: [] }
  const { turn } = journal
  const state = turn.attempts.summary
  const settings = turn.settings.compaction ?? DEFAULT_COMPACTION
  const targets = summaryTargets(turn.settings)
  const resolved = await resolveTarget(targets[state.target] ?? '', state, caller)
  const fail = (failure: Failure, draft?: { usage: { promptTokens: number; completionTokens: number } }): Batch => {
    const found = 'target' in resolved ? { resolved } : {}
    const attempt = { failure, purpose: 'summary' as const, state, targets, canCompact: false, ...found }
    return {
      facts: [failAttempt({ ...attempt, ...defined({ usage: draft ? draft.usage : undefined }) }, turn, caller)],
    }
  }
  if (!('target' in resolved)) return fail(resolved)

  const view = inReadingOrder(await messages.context(run.conversationId))
  const window = turn.attempts.answer.window ?? resolved.facts.window ?? DEFAULT_WINDOW
  const isAskedFor = turn.settings.task === 'compact'
  const isFollowed = isAskedFor || turn.pending.length > 0
  const plan = planBest(view, {
    settings,
    window,
    fixedTokens: fixedTokens({ system: caller.prompt.text, tools: caller.tools }),
    hasNewerInput: isFollowed,
    isRequested: isAskedFor,
  })
  if (!plan)
    return fail({
      kind: 'invalid-request',
      detail: 'no messages can be summarized that would free enough of the context',
    })

  await journal.requireLease()
  const draft = await askModel(
    summaryRequest(plan, settings, caller),
    { resolved, state },
    { deps: caller, onPart: () => {} },
  )
  if (signal.aborted) return { facts: [] }
  const failure = answerFailure(draft)
  // A summary truncated by the output limit is still used.
  if (failure && failure.kind !== 'text-truncated') return fail(failure, draft)
  const text = withLatestMessage(textOf(draft.content).slice(0, settings.clipChars), plan, { view, isFollowed })
  const { replaces, contextStart, tokensBefore, tokensAfter } = plan
  return {
    facts: [],
    intents: [
      {
        type: 'context-compacted',
        v: 1,
        summaryId: `message-${randomness.uuid()}`,
        text,
        replaces,
        contextStart,
        target: state.target,
        usage: draft.usage,
        tokensBefore,
        tokensAfter,
      },
    ],
  }
}

/**
 * Empties the model's context without a summary; the messages stay stored. The newest message is a parameter because
 * the context may already be empty.
 */
export function resetContext(
  view: readonly Message[],
  newest: Message | undefined,
  { randomness }: Pick<ModelCaller, 'randomness'>,
): Batch {
  const to = newest?.position ?? -1
  const replaces = { from: view[0]?.position ?? to + 1, to }
  const nothing = { usage: { promptTokens: 0, completionTokens: 0 }, tokensBefore: 0, tokensAfter: 0, target: 0 }
  const summaryId = `message-${randomness.uuid()}` as const
  return {
    facts: [],
    intents: [{ type: 'context-compacted', v: 1, summaryId, text: '', replaces, contextStart: to + 1, ...nothing }],
  }
}

/** The newest summary first, as in a request; it already includes older ones. */
function inReadingOrder(view: readonly Message[]): PositionedMessage[] {
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

/** `self_` modes send the agent's own history, which its provider has cached; others send a transcript. */
function summaryRequest(plan: CompactionPlan, settings: CompactionSettings, caller: ModelCaller): RequestContent {
  const instruction = settings.prompt ?? INSTRUCTION
  const userMessage = (text: string) => ({ role: 'user' as const, content: [{ type: 'text' as const, text }] })
  if (settings.mode.startsWith('self_')) {
    const messages = toModelHistory(plan.replaced.map(({ body }) => body))
    return { system: caller.prompt.text, tools: caller.tools, messages: [...messages, userMessage(instruction)] }
  }
  return { system: instruction, tools: [], messages: [userMessage(transcriptOf(plan.replaced))] }
}

/** Quotes the user's latest message if its answer is still in progress and the summary replaces it. */
function withLatestMessage(
  summary: string,
  { contextStart }: CompactionPlan,
  { view, isFollowed }: { view: readonly PositionedMessage[]; isFollowed: boolean },
): string {
  const last = view.findLast(({ body }) => body.role === 'user')
  const isGone = last && last.position < contextStart
  const question = last?.body.role === 'user' ? (isGone ? textOf(last.body.content) : undefined) : findQuoted(view[0])
  return `${PREFACE}\n\n${summary}${isFollowed || question === undefined ? '' : `${QUOTED}${question}`}`
}

const QUOTED = '\n\nThe latest message, word for word:\n'

/** An earlier summary, which is replaced now, may already quote the message. */
function findQuoted(first: PositionedMessage | undefined): string | undefined {
  const text = first?.body.role === 'summary' ? first.body.text : ''
  const start = text.lastIndexOf(QUOTED)
  return start < 0 ? undefined : text.slice(start + QUOTED.length)
}
