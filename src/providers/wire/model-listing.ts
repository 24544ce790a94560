import { defined } from '../../core/defined.ts'
import type { Price } from '../../core/price.ts'
import type { ListedModel } from '../../ports/provider-directory.ts'
import type { Quirks } from './quirks.ts'

/** How one dialect lists its models. */
export type ModelListing = {
  /** `after` is the cursor `next` of the previous page. */
  path(after?: string): string
  auth: NonNullable<Quirks['auth']>
  headers?: Record<string, string>
  /** Undefined if the body is not a list of models. */
  pageOf(body: unknown): ModelPage | undefined
  /** Undefined if the entry is not a generative model. */
  modelOf(entry: Fields): ListedModel | undefined
}

export type ModelPage = { entries: unknown[]; next?: string }
type Fields = Record<string, unknown>

/** An entry in the format of OpenAI, which most vendors use. */
export function modelById(entry: Fields): ListedModel | undefined {
  const id = textAt(entry, 'id')
  return id === undefined ? undefined : { model: id, ...limitsIn(entry), ...priceIn(entry) }
}

/** Vendors use different names for these limits; each name listed here has one meaning across vendors. */
const WINDOW_FIELDS = [
  'context_length',
  'context_window',
  'max_context_length',
  'max_model_len',
  'max_input_tokens',
  'inputTokenLimit',
]
const OUTPUT_FIELDS = ['max_completion_tokens', 'max_output_tokens', 'outputTokenLimit', 'max_tokens']

export function limitsIn(entry: Fields): { window?: number; maxOutput?: number } {
  const window = firstNumber(entry, WINDOW_FIELDS)
  const maxOutput = firstNumber(entry, OUTPUT_FIELDS) ?? firstNumber(recordOf(entry.top_provider) ?? {}, OUTPUT_FIELDS)
  return defined({ window, maxOutput })
}

/** OpenRouter and compatible aggregators state dollars per token, as a string. */
function priceIn(entry: Fields): { price?: Price } {
  const pricing = recordOf(entry.pricing)
  const perMillion = (field: string) => {
    const dollars = typeof pricing?.[field] === 'string' ? Number(pricing[field]) : Number.NaN
    return Number.isFinite(dollars) && dollars >= 0 ? Math.round(dollars * 1e12) / 1e6 : undefined
  }
  const input = perMillion('prompt')
  const output = perMillion('completion')
  if (input === undefined || output === undefined) return {}
  const cachedInput = perMillion('input_cache_read')
  const cacheWrite = perMillion('input_cache_write')
  return {
    price: {
      input,
      output,
      asOf: 'stated',
      ...defined({ cachedInput, cacheWrite }),
    },
  }
}

function firstNumber(entry: Fields, fields: readonly string[]): number | undefined {
  for (const field of fields) {
    const value = entry[field]
    if (typeof value === 'number' && Number.isInteger(value) && value > 0) return value
  }
  return undefined
}

export function entriesAt(body: unknown, field: string): ModelPage | undefined {
  const entries = recordOf(body)?.[field]
  return Array.isArray(entries) ? { entries } : undefined
}

export const recordOf = (value: unknown): Fields | undefined =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : undefined

export const textAt = (entry: Fields, field: string): string | undefined => {
  const value = entry[field]
  return typeof value === 'string' && value !== '' ? value : undefined
}
