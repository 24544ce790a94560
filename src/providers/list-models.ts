import type { Failure } from '../core/failure.ts'
import type { HttpDialect } from '../core/message.ts'
import type { Price } from '../core/price.ts'
import type { Grant } from '../ports/credentials.ts'
import type { ListedModel, ModelList } from '../ports/provider-directory.ts'
import { classify, classifyTransport } from './classify/classify.ts'
import { loadUndici } from './load-undici.ts'
import { authHeaders } from './wire/auth-headers.ts'
import type { Quirks } from './wire/quirks.ts'

export type ListRequest = {
  provider: string
  dialect: HttpDialect
  baseUrl: string
  quirks: Quirks
  grant?: Grant
  signal: AbortSignal
}

const DEADLINE_MS = 5_000
/** Lists come in pages; no vendor has so many models that this would end too early. */
const MOST_PAGES = 10

type Fields = Record<string, unknown>
type Page = { entries: unknown[]; next?: string }

/** How each language lists its models. */
type Shelf = {
  path(after?: string): string
  auth: NonNullable<Quirks['auth']>
  headers?: Record<string, string>
  pageOf(body: unknown): Page | undefined
  modelOf(entry: Fields): ListedModel | undefined
}

/** Asks for the models a provider serves; within seconds there is an answer or a failure. */
export async function listModels(asked: ListRequest): Promise<ModelList> {
  const shelf = SHELVES[asked.dialect]
  const signal = AbortSignal.any([asked.signal, AbortSignal.timeout(DEADLINE_MS)])
  const models: ListedModel[] = []
  let after: string | undefined
  for (let page = 0; page < MOST_PAGES; page++) {
    const got = await askPage(shelf, { ...asked, signal }, after)
    if ('failure' in got) return { type: 'failure', failure: got.failure }
    models.push(...got.page.entries.flatMap((entry) => modelIn(entry, shelf)))
    after = got.page.next
    if (after === undefined) break
  }
  return { type: 'models', models: withoutTwins(models) }
}

const LATE: Failure = {
  kind: 'timeout',
  detail: `the list of models did not come within ${DEADLINE_MS / 1_000} s`,
}

type Got = { page: Page } | Extract<ModelList, { type: 'failure' }>

async function askPage(shelf: Shelf, asked: ListRequest, after: string | undefined): Promise<Got> {
  const { provider, quirks, grant, signal } = asked
  const base = (grant?.baseUrl ?? asked.baseUrl).replace(/\/+$/, '')
  const headers = {
    accept: 'application/json',
    ...shelf.headers,
    ...quirks.headers,
    ...grant?.headers,
    ...authHeaders(grant, quirks.auth ?? shelf.auth),
  }
  try {
    const { request } = await loadUndici()
    const reply = await request(withQuery(base + shelf.path(after), quirks.query), { headers, signal })
    const body = await reply.body.text()
    const page = reply.statusCode < 300 ? shelf.pageOf(parsed(body)) : undefined
    if (page) return { page }
    const failure = classify({ provider, model: '', status: reply.statusCode, headers: plain(reply.headers), body })
    if (reply.statusCode >= 300) return { type: 'failure', failure }
    return { type: 'failure', failure: { kind: 'malformed-answer', detail: 'what it answered is no list of models' } }
  } catch (error) {
    if (signal.aborted && signal.reason?.name === 'TimeoutError') return { type: 'failure', failure: LATE }
    return { type: 'failure', failure: classifyTransport(error, 'connect') }
  }
}

const OPENAI: Shelf = {
  path: () => '/models',
  auth: 'bearer',
  pageOf: (body) => (Array.isArray(body) ? { entries: body } : entriesAt(body, 'data')),
  modelOf: (entry) => {
    const id = textAt(entry, 'id')
    return id === undefined ? undefined : { model: id, ...limitsIn(entry), ...priceIn(entry) }
  },
}

const SHELVES: Record<ListRequest['dialect'], Shelf> = {
  'openai-chat': OPENAI,
  'openai-responses': OPENAI,
  anthropic: {
    path: (after) => `/v1/models?limit=1000${after === undefined ? '' : `&after_id=${encodeURIComponent(after)}`}`,
    auth: 'x-api-key',
    headers: { 'anthropic-version': '2023-06-01' },
    pageOf: (body) => {
      const page = entriesAt(body, 'data')
      const last = recordOf(body)?.has_more === true ? textAt(recordOf(body)!, 'last_id') : undefined
      return page && (last === undefined ? page : { ...page, next: last })
    },
    modelOf: OPENAI.modelOf,
  },
  gemini: {
    path: (after) =>
      `/v1beta/models?pageSize=1000${after === undefined ? '' : `&pageToken=${encodeURIComponent(after)}`}`,
    auth: 'x-goog-api-key',
    pageOf: (body) => {
      const page = entriesAt(body, 'models')
      const next = page && textAt(recordOf(body)!, 'nextPageToken')
      return page && (next === undefined ? page : { ...page, next })
    },
    modelOf: (entry) => {
      const methods = entry.supportedGenerationMethods
      const name = textAt(entry, 'name')?.replace(/^models\//, '')
      // Embeddings and the like are listed, too, and answer nobody.
      if (name === undefined || (Array.isArray(methods) && !methods.includes('generateContent'))) return undefined
      return { model: name, ...limitsIn(entry) }
    },
  },
}

/** Vendors agree on no name for these; what none of them uses for something else is taken. */
const WINDOW_FIELDS = [
  ...['context_length', 'context_window', 'max_context_length', 'max_model_len', 'max_input_tokens', 'inputTokenLimit'],
]
const OUTPUT_FIELDS = ['max_completion_tokens', 'max_output_tokens', 'outputTokenLimit', 'max_tokens']

function limitsIn(entry: Fields): { window?: number; maxOutput?: number } {
  const window = firstNumber(entry, WINDOW_FIELDS)
  const maxOutput = firstNumber(entry, OUTPUT_FIELDS) ?? firstNumber(recordOf(entry.top_provider) ?? {}, OUTPUT_FIELDS)
  return { ...(window === undefined ? {} : { window }), ...(maxOutput === undefined ? {} : { maxOutput }) }
}

/** OpenRouter and its kind state dollars per token, as text. */
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
      ...{ input, output, asOf: 'stated' },
      ...(cachedInput === undefined ? {} : { cachedInput }),
      ...(cacheWrite === undefined ? {} : { cacheWrite }),
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

function modelIn(entry: unknown, shelf: Shelf): ListedModel[] {
  const record = recordOf(entry)
  const model = record && shelf.modelOf(record)
  return model ? [model] : []
}

const withoutTwins = (models: ListedModel[]): ListedModel[] => [
  ...new Map(models.map((entry) => [entry.model, entry])).values(),
]

function entriesAt(body: unknown, field: string): Page | undefined {
  const entries = recordOf(body)?.[field]
  return Array.isArray(entries) ? { entries } : undefined
}

const recordOf = (value: unknown): Fields | undefined =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : undefined

const textAt = (entry: Fields, field: string): string | undefined => {
  const value = entry[field]
  return typeof value === 'string' && value !== '' ? value : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const withQuery = (url: string, query: Quirks['query']): string =>
  query ? `${url}${url.includes('?') ? '&' : '?'}${new URLSearchParams(query)}` : url

const plain = (headers: Record<string, string | string[] | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  )
