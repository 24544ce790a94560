import type { CompactionPlan, CompactionSettings, PositionedMessage } from '../core/compaction.ts'
import { LEAST_ROOM } from '../core/context-window.ts'
import { cutText } from '../core/cut-text.ts'
import { toModelHistory } from '../core/history.ts'
import { CHARS_PER_TOKEN, estimateAll, fixedTokens, textTokens } from '../core/token-estimate.ts'
import type { Turn } from '../core/turn.ts'
import type { RequestContent } from './attempt.ts'
import type { ModelCaller } from './call-model.ts'
import { earlierSummary, INSTRUCTION, transcriptEntry } from './transcript.ts'

type SummaryPart = {
  content: RequestContent
  /** The position of the last message that the summary then covers. */
  through: number
  isLast: boolean
}

type SummaryPartOptions = {
  settings: CompactionSettings
  /** The window of the model that writes the summary. */
  window: number
  partial: Turn['partialSummary']
  caller: Pick<ModelCaller, 'prompt' | 'tools'>
  /** Roughly the most requests that one summary may take. */
  maxParts: number
}

/** The share of the window that a summary request fills; the estimate may be too low. */
const REQUEST_SHARE = 0.85
/** The share of the window that is left for the summary itself, and its upper limit in tokens. */
const OUTPUT_SHARE = 0.2
const MAX_OUTPUT = 4_000
/** Characters to which a long text in a transcript is cut: the first that makes few enough parts is used. */
const CLIPS = [5_500, 2_000, 700, 250, 100] as const

/**
 * The next request for a summary: it fits the window of its model. What does not fit into one request is summarized in
 * parts, each with the summary so far before it.
 */
export function nextSummaryPart(plan: CompactionPlan, options: SummaryPartOptions): SummaryPart {
  const { settings, partial } = options
  const instruction = settings.prompt ?? INSTRUCTION
  const through = plan.replaces.to
  if (settings.mode.startsWith('self_') && !partial) {
    const content = ownHistory(plan.replaced, instruction, options)
    if (content) return { content, through, isLast: true }
  }
  const room = roomFor(instruction, options)
  const { clip, first } = condense(plan.replaced, room, options)
  const entries: string[] = partial ? [earlierSummary(cutText(partial.text, Math.floor(room / 3)))] : []
  const left = plan.replaced.filter((message) => isAfter(message, partial))
  const skipped = left.filter(({ position }) => position < first)
  if (skipped.length > 0) entries.push(`[… ${skipped.length} messages left out …]`)
  let used = entries.reduce((sum, entry) => sum + entry.length + GAP.length, 0)
  let last: PositionedMessage | undefined = skipped.at(-1)
  for (const message of left.slice(skipped.length)) {
    const entry = cutText(transcriptEntry(message, clip), room)
    const isFirst = last === skipped.at(-1)
    if (used + entry.length + GAP.length > room && !isFirst) break
    if (entry !== '') entries.push(isFirst ? cutText(entry, Math.max(0, room - used)) : entry)
    used += entry.length + GAP.length
    last = message
  }
  const isLast = last === undefined || last === left.at(-1)
  const content = { system: instruction, tools: [], messages: [userMessage(entries.join(GAP))] }
  return { content, through: isLast ? through : coveredBy(last!, left), isLast }
}

/** An earlier summary is stored after the messages that follow it, so its own position says nothing. */
function coveredBy(last: PositionedMessage, left: readonly PositionedMessage[]): number {
  if (last.body.role !== 'summary') return last.position
  return left.find(({ body }) => body.role !== 'summary')!.position - 1
}

const GAP = '\n\n'

const userMessage = (text: string) => ({ role: 'user' as const, content: [{ type: 'text' as const, text }] })

/** An earlier summary is part of the first request only; the summary so far includes it. */
const isAfter = ({ position, body }: PositionedMessage, partial: Turn['partialSummary']): boolean =>
  !partial || (body.role !== 'summary' && position > partial.through)

/** `self_` modes send the agent's own history, which its provider has cached. Undefined: it does not fit. */
function ownHistory(
  replaced: readonly PositionedMessage[],
  instruction: string,
  { window, caller }: SummaryPartOptions,
): RequestContent | undefined {
  const history = toModelHistory(replaced.map(({ body }) => body))
  const content = { system: caller.prompt.text, tools: caller.tools, messages: [...history, userMessage(instruction)] }
  const tokens = fixedTokens(content) + estimateAll(content.messages)
  return tokens + outputTokens(window) <= REQUEST_SHARE * window ? content : undefined
}

const outputTokens = (window: number): number => Math.min(MAX_OUTPUT, Math.floor(OUTPUT_SHARE * window))

/** Characters of one request that are left for the conversation. */
function roomFor(instruction: string, { window }: SummaryPartOptions): number {
  const tokens = REQUEST_SHARE * window - outputTokens(window) - textTokens(instruction)
  return Math.floor(CHARS_PER_TOKEN * Math.max(LEAST_ROOM, tokens))
}

/** How far long texts are cut, and the first message that is told, so that the requests are few enough. */
function condense(
  replaced: readonly PositionedMessage[],
  room: number,
  { maxParts }: SummaryPartOptions,
): { clip: number; first: number } {
  const most = maxParts * room
  const longest = Math.floor(room / 2)
  for (const clip of CLIPS.map((each) => Math.min(each, longest))) {
    let chars = 0
    for (const message of replaced) chars += Math.min(room, transcriptEntry(message, clip).length + GAP.length)
    if (chars <= most) return { clip, first: Number.NEGATIVE_INFINITY }
  }
  const clip = Math.min(CLIPS.at(-1)!, longest)
  let left = most
  let start = replaced.length
  for (; start > 0 && left > 0; start--) left -= transcriptEntry(replaced[start - 1]!, clip).length + GAP.length
  return { clip, first: replaced[start]?.position ?? Number.NEGATIVE_INFINITY }
}
