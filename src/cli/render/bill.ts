import type { Usage } from '../../core/event.ts'
import { costOf, type Price } from '../../core/price.ts'

/** `812 + 40 tokens (600 cached, 20 reasoning)` */
export function usageText({ promptTokens, completionTokens, ...parts }: Usage): string {
  const details = [
    parts.cachedTokens ? `${parts.cachedTokens} cached` : '',
    parts.cacheWriteTokens ? `${parts.cacheWriteTokens} written to the cache` : '',
    parts.reasoningTokens ? `${parts.reasoningTokens} reasoning` : '',
  ].filter(Boolean)
  return `${promptTokens} + ${completionTokens} tokens${details.length > 0 ? ` (${details.join(', ')})` : ''}`
}

/** The cost of one request, or an empty text without a known price. */
export function costText(usage: Usage, price: Price | undefined): string {
  const cost = price && costOf(usage, price)
  return cost === undefined ? '' : `, ${dollars(cost)} at the prices of ${price!.asOf}`
}

export const dollars = (amount: number): string => `$${amount < 0.01 ? amount.toFixed(6) : amount.toFixed(4)}`

/** A cost in a table. */
export const costCell = (cost: number | undefined): string =>
  cost === undefined ? 'unknown' : cost === 0 ? '$0' : `$${cost < 0.01 ? cost.toFixed(4) : cost.toFixed(2)}`
