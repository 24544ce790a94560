import type { Failure } from '../core/failure.ts'
import type { Grant } from '../ports/credentials.ts'
import type { ListedModel, ModelList } from '../ports/provider-directory.ts'
import { classify, classifyTransport } from './classify/classify.ts'
import { loadUndici } from './load-undici.ts'
import { authHeaders } from './wire/auth-headers.ts'
import { type ModelListing, type ModelPage, recordOf } from './wire/model-listing.ts'
import type { Quirks } from './wire/quirks.ts'

type ListModelsOptions = {
  provider: string
  listing: ModelListing
  baseUrl: string
  quirks: Quirks
  grant?: Grant
  signal: AbortSignal
}

const DEADLINE_MS = 5_000
/** Limit of pagination; no vendor has more pages of models. */
const MAX_PAGES = 10

/** Requests the models that a provider serves; resolves within seconds, to a list or a failure. */
export async function listModels(options: ListModelsOptions): Promise<ModelList> {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(DEADLINE_MS)])
  const models: ListedModel[] = []
  let after: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const result = await fetchPage({ ...options, signal }, after)
    if ('failure' in result) return { type: 'failure', failure: result.failure }
    models.push(...result.page.entries.flatMap((entry) => parseModel(entry, options.listing)))
    after = result.page.next
    if (after === undefined) break
  }
  return { type: 'models', models: uniqueByModel(models) }
}

const DEADLINE_PASSED: Failure = {
  kind: 'timeout',
  detail: `the list of models did not arrive within ${DEADLINE_MS / 1_000} s`,
}

type PageResult = { page: ModelPage } | Extract<ModelList, { type: 'failure' }>

async function fetchPage(options: ListModelsOptions, after: string | undefined): Promise<PageResult> {
  const { provider, listing, quirks, grant, signal } = options
  const base = (grant?.baseUrl ?? options.baseUrl).replace(/\/+$/, '')
  const headers = {
    accept: 'application/json',
    ...listing.headers,
    ...quirks.headers,
    ...grant?.headers,
    ...authHeaders(grant, quirks.auth ?? listing.auth),
  }
  try {
    const { request } = await loadUndici()
    const reply = await request(withQuery(base + listing.path(after), quirks.query), { headers, signal })
    const body = await reply.body.text()
    const page = reply.statusCode < 300 ? listing.pageOf(parseJson(body)) : undefined
    if (page) return { page }
    const failure = classify({
      provider,
      model: '',
      status: reply.statusCode,
      headers: flattenHeaders(reply.headers),
      body,
    })
    if (reply.statusCode >= 300) return { type: 'failure', failure }
    return { type: 'failure', failure: { kind: 'malformed-answer', detail: 'the response is not a list of models' } }
  } catch (error) {
    if (signal.aborted && signal.reason?.name === 'TimeoutError') return { type: 'failure', failure: DEADLINE_PASSED }
    return { type: 'failure', failure: classifyTransport(error, 'connect') }
  }
}

function parseModel(entry: unknown, listing: ModelListing): ListedModel[] {
  const record = recordOf(entry)
  const model = record && listing.modelOf(record)
  return model ? [model] : []
}

const uniqueByModel = (models: ListedModel[]): ListedModel[] => [
  ...new Map(models.map((entry) => [entry.model, entry])).values(),
]

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const withQuery = (url: string, query: Quirks['query']): string =>
  query ? `${url}${url.includes('?') ? '&' : '?'}${new URLSearchParams(query)}` : url

const flattenHeaders = (headers: Record<string, string | string[] | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  )
