import { DEFAULT_THRESHOLD, fillLimit } from './context-window.ts'
import type { MessageBody } from './message.ts'
import { estimateTokens } from './token-estimate.ts'

/** Which messages a summary replaces. The names are the official client's. */
export type CompactionMode = 'sliding_window' | 'all' | 'self_compact_sliding_window' | 'self_compact_all'

export type CompactionSettings = {
  /** The model that writes the summary; absent: the agent's chain. `self_` modes always use the agent's model. */
  model?: string
  prompt?: string
  mode: CompactionMode
  /** The minimum share of the context that a sliding window removes. */
  slidingWindowPercentage: number
  /** The summary is truncated to this many characters. */
  clipChars: number
  /** The share of the context window that a conversation may fill before it is compacted. Absent: 0.9. */
  threshold?: number
}

export const DEFAULT_COMPACTION: CompactionSettings = {
  mode: 'sliding_window',
  slidingWindowPercentage: 0.3,
  clipChars: 50_000,
}

export const thresholdOf = ({ compaction }: { compaction?: CompactionSettings }): number =>
  compaction?.threshold ?? DEFAULT_THRESHOLD

/** A smaller gain is not worth a model call: the next step would compact again. */
const MIN_GAIN = 0.1

/** The targets for the summary: the configured model first, then the agent's chain. */
export function summaryTargets({
  targets,
  compaction,
}: {
  targets: readonly string[]
  compaction?: CompactionSettings
}): string[] {
  const isSelf = compaction?.mode.startsWith('self_') ?? false
  return compaction?.model && !isSelf ? [compaction.model, ...targets] : [...targets]
}

/** The mode to try next when one cannot free enough context. */
export const NEXT_MODE: Record<CompactionMode, CompactionMode | undefined> = {
  self_compact_all: 'self_compact_sliding_window',
  self_compact_sliding_window: 'all',
  sliding_window: 'all',
  all: undefined,
}

export type PositionedMessage = { position: number; body: MessageBody }

export type PlanCompactionOptions = {
  settings: CompactionSettings
  window: number
  /** Tokens of every request besides the messages. */
  fixedTokens: number
  /** A newer input follows the stored messages, so all of them may be replaced. */
  hasNewerInput: boolean
  /** The user requested the compaction: any gain is enough. */
  isRequested?: boolean
}

export type CompactionPlan = {
  /** In order, with the previous summary first. */
  replaced: PositionedMessage[]
  replaces: { from: number; to: number }
  /** The position of the first message that stays in view. */
  contextStart: number
  tokensBefore: number
  tokensAfter: number
}

/**
 * Chooses the messages to summarize: from the beginning up to a point where every call has its results. The newest
 * exchange stays. Undefined: no message can be replaced, or the gain is too small.
 */
export function planCompaction(
  view: readonly PositionedMessage[],
  options: PlanCompactionOptions,
): CompactionPlan | undefined {
  const { fixedTokens } = options
  const sizes = view.map(({ body }) => estimateTokens(body))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  const tokensBefore = fixedTokens + total
  const cut = chooseCut(view, sizes, { ...options, total })
  if (cut === undefined) return undefined
  const gone = sizes.slice(0, cut).reduce((sum, size) => sum + size, 0)
  const tokensAfter = tokensBefore - gone + Math.min(SUMMARY_TOKENS, Math.ceil(gone * SUMMARY_SHARE))
  if (!options.isRequested && tokensBefore - tokensAfter < MIN_GAIN * tokensBefore) return undefined
  const replaced = view.slice(0, cut)
  const old = replaced.filter(({ body }) => body.role !== 'summary').map(({ position }) => position)
  const earlier = replaced.flatMap(({ body }) => (body.role === 'summary' ? [body.replaces.from] : []))
  if (old.length === 0) return undefined
  const from = Math.min(...earlier, old[0]!)
  return {
    replaced,
    replaces: { from, to: old.at(-1)! },
    contextStart: view[cut]?.position ?? old.at(-1)! + 1,
    tokensBefore,
    tokensAfter,
  }
}

/** Estimated size of a summary. */
const SUMMARY_TOKENS = 1_500
const SUMMARY_SHARE = 0.2

type CutOptions = PlanCompactionOptions & { total: number }

/** The first cut that leaves the context within its goal; if none does, the largest cut. */
function chooseCut(
  view: readonly PositionedMessage[],
  sizes: readonly number[],
  options: CutOptions,
): number | undefined {
  const { settings, window, fixedTokens, total } = options
  const isWhole = settings.mode === 'all' || settings.mode === 'self_compact_all'
  const share = 1 - settings.slidingWindowPercentage
  // A cut that frees barely enough would be repeated at every step.
  const limit =
    fillLimit({ window, threshold: thresholdOf({ compaction: settings }), fixed: fixedTokens }) - fixedTokens
  const goal = isWhole ? 0 : Math.min(limit * share, total * share)
  const left = tokensLeftByCut(sizes, total)
  const cuts = legalCuts(view, options)
  const newest = options.hasNewerInput ? view.length : view.findLastIndex(({ body }) => body.role === 'user')
  // The newest exchange stays whole unless it alone is too long: then its older steps go and its question is quoted.
  const older = cuts.filter((cut) => cut <= newest)
  const last = older.at(-1)
  const bestOlder = older.find((cut) => left[cut]! <= goal) ?? last
  if (bestOlder !== undefined && left[bestOlder]! <= limit) return bestOlder
  return cuts.find((cut) => left[cut]! <= goal) ?? cuts.at(-1)
}

/** Tokens that stay in the context after each cut. */
function tokensLeftByCut(sizes: readonly number[], total: number): number[] {
  let left = total
  return [total, ...sizes.map((size) => (left -= size))]
}

/** Cuts that do not separate a call from its results. The last message stays unless a newer input follows it. */
function legalCuts(view: readonly PositionedMessage[], { hasNewerInput }: PlanCompactionOptions): number[] {
  const ends = [...view.map(({ body }) => body), ...(hasNewerInput ? [undefined] : [])]
  return ends.flatMap((body, index) => {
    const before = view[index - 1]?.body
    if (!before || body?.role === 'tool') return []
    const isOpen = before.role === 'approval' || (before.role === 'assistant' && before.calls.length > 0)
    return isOpen ? [] : [index]
  })
}
