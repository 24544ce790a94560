import type { Usage } from './event.ts'

/** US dollars for a million tokens. */
export type Price = {
  input: number
  output: number
  cachedInput?: number
  cacheWrite?: number
  /** Prompts above this many tokens have another price, which is not in the table. */
  upTo?: number
  /** The date of the price, or `stated` if it comes from the provider's current model list. */
  asOf: string
}

/** Of the scripted model. */
export const FREE: Price = { input: 0, output: 0, cachedInput: 0, cacheWrite: 0, asOf: 'built in' }

const MILLION = 1_000_000

/** In US dollars. Undefined if the price of a part is unknown: a partial sum would be misleading. */
export function costOf(usage: Usage, price: Price): number | undefined {
  const { promptTokens, completionTokens, cachedTokens = 0, cacheWriteTokens = 0 } = usage
  if (price.upTo !== undefined && promptTokens > price.upTo) return undefined
  const cached = partCost(cachedTokens, price.cachedInput)
  const written = partCost(cacheWriteTokens, price.cacheWrite)
  if (cached === undefined || written === undefined) return undefined
  const fresh = Math.max(0, promptTokens - cachedTokens - cacheWriteTokens)
  return (fresh * price.input + completionTokens * price.output) / MILLION + cached + written
}

function partCost(tokens: number, price: number | undefined): number | undefined {
  if (tokens === 0) return 0
  return price === undefined ? undefined : (tokens * price) / MILLION
}
