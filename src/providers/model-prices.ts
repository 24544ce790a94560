import type { Price } from '../core/price.ts'

/**
 * One vendor's prices for its own models. Other vendors of the same model set other prices, which are not listed.
 * `asOf` is the day on which the rows matched the vendor's page.
 */
type PriceList = { providers: readonly string[]; asOf: string; rows: Readonly<Record<string, Omit<Price, 'asOf'>>> }

/** Anthropic's cache reads cost a tenth of the input price, and five-minute cache writes a quarter more. */
const claudePrices = (input: number, output: number) => ({
  input,
  output,
  cachedInput: roundPrice(input / 10),
  cacheWrite: roundPrice(input * 1.25),
})

const LISTS: readonly PriceList[] = [
  {
    providers: ['anthropic'],
    asOf: '2026-10-10',
    rows: {
      'claude-opus-5': claudePrices(5, 25),
      'claude-opus-4-8': claudePrices(5, 25),
      'claude-opus-4-7': claudePrices(5, 25),
      'claude-opus-4-6': claudePrices(5, 25),
      'claude-opus-4-5': claudePrices(5, 25),
      'claude-opus-4-1': claudePrices(15, 75),
      'claude-opus-4': claudePrices(15, 75),
      'claude-sonnet-4-6': claudePrices(3, 15),
      'claude-sonnet-4-5': claudePrices(3, 15),
      'claude-sonnet-4': claudePrices(3, 15),
      'claude-3-7-sonnet': claudePrices(3, 15),
      'claude-haiku-4-5': claudePrices(1, 5),
      'claude-3-5-haiku': claudePrices(0.8, 4),
    },
  },
  {
    providers: ['openai', 'openai-responses'],
    asOf: '2026-06-30',
    rows: {
      'gpt-5.2': { input: 1.75, output: 14, cachedInput: 0.175 },
      'gpt-5': { input: 1.25, output: 10, cachedInput: 0.125 },
      'gpt-5-mini': { input: 0.25, output: 2, cachedInput: 0.025 },
      'gpt-5-nano': { input: 0.05, output: 0.4, cachedInput: 0.005 },
      'gpt-4.1': { input: 2, output: 8, cachedInput: 0.5 },
      'gpt-4.1-mini': { input: 0.4, output: 1.6, cachedInput: 0.1 },
      'gpt-4.1-nano': { input: 0.1, output: 0.4, cachedInput: 0.025 },
      'gpt-4o': { input: 2.5, output: 10, cachedInput: 1.25 },
      'gpt-4o-mini': { input: 0.15, output: 0.6, cachedInput: 0.075 },
      'o4-mini': { input: 1.1, output: 4.4, cachedInput: 0.275 },
      o3: { input: 2, output: 8, cachedInput: 0.5 },
    },
  },
  {
    providers: ['gemini'],
    asOf: '2026-06-30',
    rows: {
      'gemini-2.5-pro': { input: 1.25, output: 10, upTo: 200_000 },
      'gemini-2.5-flash': { input: 0.3, output: 2.5 },
    },
  },
  { providers: ['xai'], asOf: '2026-06-30', rows: { 'grok-4': { input: 3, output: 15, cachedInput: 0.75 } } },
]

/** A dated name (`-2025-08-07`, `-20250929`, `-latest`) has the price of the plain name; no other price is inferred. */
const DATED_SUFFIX = /-(\d{4}-\d{2}-\d{2}|\d{8}|latest)$/

export function priceOf(provider: string, model: string): Price | undefined {
  const list = LISTS.find(({ providers }) => providers.includes(provider))
  const name = model.toLowerCase().replace(DATED_SUFFIX, '')
  const row = list && Object.hasOwn(list.rows, name) ? list.rows[name] : undefined
  return list && row ? { ...row, asOf: list.asOf } : undefined
}

function roundPrice(dollars: number): number {
  return Math.round(dollars * 10_000) / 10_000
}
