import type { MessageBody } from './message.ts'
import { textOf } from './message.ts'

/** How the messages that no longer fit become a summary. The names are those of the official client. */
export type CompactionMode = 'sliding_window' | 'all' | 'self_compact_sliding_window' | 'self_compact_all'

export type CompactionSettings = {
  /** Who writes the summary; without it the agent's own chain. `self_` modes always use the agent's own model. */
  model?: string
  prompt?: string
  mode: CompactionMode
  /** The share of the view that a sliding window takes away at least. */
  slidingWindowPercentage: number
  /** The summary is cut off after this many characters. */
  clipChars: number
}

export const DEFAULT_COMPACTION: CompactionSettings = {
  mode: 'sliding_window',
  slidingWindowPercentage: 0.3,
  clipChars: 50_000,
}

/** The share of its window that a conversation may fill before room is made. */
export const FILL_LIMIT = 0.9
/** Less gain than this is not worth a model call: it would be compacted again at once. */
const MIN_GAIN = 0.1

/** Who may write the summary: whoever was chosen for it first, then the agent's own chain. */
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

/** What is tried in turn when a mode cannot make room. */
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
  /** What every request holds beside the messages. */
  fixedTokens: number
  /** A newer input waits to be read, or will be the next there is: all that is stored may go. */
  hasNewerInput: boolean
  /** Somebody asked for it: then any gain is worth it. */
  isRequested?: boolean
}

export type CompactionPlan = {
  /** In order, the former summary first. */
  replaced: PositionedMessage[]
  replaces: { from: number; to: number }
  /** The position of the first message that stays in view. */
  contextStart: number
  tokensBefore: number
  tokensAfter: number
}

/**
 * What to summarize, if that makes enough room: messages from the beginning up to a point where every call has its results.
 * The newest exchange always stays. Undefined: nothing can go, or too little.
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

/** About what a good summary takes. */
const SUMMARY_TOKENS = 1_500
const SUMMARY_SHARE = 0.2

type CutOptions = PlanCompactionOptions & { total: number }

/** The first cut that leaves the view within its goal; where none does, the one that takes most. */
function chooseCut(
  view: readonly PositionedMessage[],
  sizes: readonly number[],
  options: CutOptions,
): number | undefined {
  const { settings, window, fixedTokens, total } = options
  const isWhole = settings.mode === 'all' || settings.mode === 'self_compact_all'
  const share = 1 - settings.slidingWindowPercentage
  // A slide that only just makes room would be repeated at every step.
  const goal = isWhole ? 0 : Math.min(FILL_LIMIT * window * share - fixedTokens, total * share)
  const limit = FILL_LIMIT * window - fixedTokens
  const left = tokensLeftByCut(sizes, total)
  const cuts = legalCuts(view, options)
  const newest = options.hasNewerInput ? view.length : view.findLastIndex(({ body }) => body.role === 'user')
  // The newest exchange stays whole unless it alone is too long: then its older steps go, and its question is quoted.
  const older = cuts.filter((cut) => cut <= newest)
  const last = older.at(-1)
  const bestOlder = older.find((cut) => left[cut]! <= goal) ?? last
  if (bestOlder !== undefined && left[bestOlder]! <= limit) return bestOlder
  return cuts.find((cut) => left[cut]! <= goal) ?? cuts.at(-1)
}

/** What stays in view after each cut. */
function tokensLeftByCut(sizes: readonly number[], total: number): number[] {
  let left = total
  return [total, ...sizes.map((size) => (left -= size))]
}

/** Where no call is torn from its results. The last message stays, unless an input that is not stored yet follows it. */
function legalCuts(view: readonly PositionedMessage[], { hasNewerInput }: PlanCompactionOptions): number[] {
  const ends = [...view.map(({ body }) => body), ...(hasNewerInput ? [undefined] : [])]
  return ends.flatMap((body, index) => {
    const before = view[index - 1]?.body
    if (!before || body?.role === 'tool') return []
    const isOpen = before.role === 'approval' || (before.role === 'assistant' && before.calls.length > 0)
    return isOpen ? [] : [index]
  })
}

/** Four characters to a token, and what an image usually costs; used only where the provider has not counted. */
export function estimateTokens(body: MessageBody): number {
  return Math.ceil(lengthOf(body) / 4) + 4
}

const IMAGE_CHARS = 6_400

function lengthOf(body: MessageBody): number {
  switch (body.role) {
    case 'user':
    case 'system':
      return textOf(body.content).length + IMAGE_CHARS * body.content.filter((part) => part.type === 'image').length
    case 'assistant': {
      const thoughts = body.content.map((part) => ('data' in part ? part.data.length : part.text.length))
      const calls = body.calls.map((call) => call.tool.length + JSON.stringify(call.input).length)
      return [...thoughts, ...calls].reduce((sum, length) => sum + length, 0)
    }
    case 'tool':
      return body.outcomes.reduce(
        (sum, { output, images = [] }) => sum + output.length + IMAGE_CHARS * images.length,
        0,
      )
    case 'approval':
      return 0
    case 'summary':
      return body.text.length
  }
}
