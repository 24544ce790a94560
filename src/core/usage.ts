import { defined } from './defined.ts'
import type { TurnEvent, Usage } from './event.ts'

const NO_USAGE: Usage = { promptTokens: 0, completionTokens: 0 }

export function addUsage(sum: Usage, more: Usage): Usage {
  const both = (one: number | undefined, other: number | undefined) =>
    one === undefined && other === undefined ? undefined : (one ?? 0) + (other ?? 0)
  return {
    promptTokens: sum.promptTokens + more.promptTokens,
    completionTokens: sum.completionTokens + more.completionTokens,
    ...defined({
      cachedTokens: both(sum.cachedTokens, more.cachedTokens),
      cacheWriteTokens: both(sum.cacheWriteTokens, more.cacheWriteTokens),
      reasoningTokens: both(sum.reasoningTokens, more.reasoningTokens),
    }),
  }
}

/** The tokens of a run: its answers, its summaries, and the failed attempts whose provider reported some. */
export const usageOfRun = (events: readonly { event: TurnEvent }[]): Usage =>
  events.reduce((sum, { event }) => ('usage' in event && event.usage ? addUsage(sum, event.usage) : sum), NO_USAGE)
