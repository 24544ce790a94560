import { defined } from '../../core/defined.ts'
import type { JsonObject } from '../../core/json.ts'
import type { SearchEngineName } from '../../core/search-engine.ts'

/** The arguments of `web_search`, as the retired server named them. */
export type SearchQuery = {
  query: string
  num_results?: number | null
  category?: string | null
  include_text?: boolean | null
  include_domains?: string[] | null
  exclude_domains?: string[] | null
  start_published_date?: string | null
  end_published_date?: string | null
  user_location?: string | null
}

export type SearchResult = {
  title: string
  url: string
  published_date?: string
  author?: string
  highlights?: string[]
  summary?: string
  text?: string
}

type SearchRequest = { url: string; method: 'GET' | 'POST'; headers: Record<string, string>; body?: JsonObject }

/** A search service: how it is asked and what its answer says. Pure; one caller sends the requests. */
export type SearchEngine = {
  /** The secret or environment variable with its key; without one it needs only an address. */
  keyName?: string
  /** The environment variable with its address. */
  addressName: string
  baseUrl?: string
  maxResults: number
  /** Arguments without effect at this service; the answer names them. */
  ignores: readonly (keyof SearchQuery)[]
  request(query: SearchQuery, service: { key: string; baseUrl: string; count: number }): SearchRequest
  results(answer: JsonObject): SearchResult[]
}

export const SEARCH_ENGINES: Record<SearchEngineName, SearchEngine> = {
  exa: {
    keyName: 'EXA_API_KEY',
    addressName: 'EXA_BASE_URL',
    baseUrl: 'https://api.exa.ai',
    maxResults: 100,
    ignores: [],
    request: (query, { key, baseUrl, count }) => ({
      url: `${baseUrl}/search`,
      method: 'POST',
      headers: { 'x-api-key': key },
      body: defined({
        query: query.query,
        type: 'auto',
        numResults: count,
        category: query.category ?? undefined,
        includeDomains: listOrNone(query.include_domains),
        excludeDomains: listOrNone(query.exclude_domains),
        startPublishedDate: query.start_published_date ?? undefined,
        endPublishedDate: query.end_published_date ?? undefined,
        userLocation: query.user_location ?? undefined,
        contents: {
          text: query.include_text === true,
          highlights: { numSentences: 2, highlightsPerUrl: 3, query: query.query },
          summary: { query: `Summarize what this page says about: ${query.query}` },
        },
      }) as JsonObject,
    }),
    results: ({ results }) =>
      rowsOf(results, (row) => ({
        ...resultOf(row),
        ...defined({
          published_date: textOf(row.publishedDate),
          author: textOf(row.author),
          highlights: textsOf(row.highlights),
          summary: textOf(row.summary),
          text: textOf(row.text),
        }),
      })),
  },
  tavily: {
    keyName: 'TAVILY_API_KEY',
    addressName: 'TAVILY_BASE_URL',
    baseUrl: 'https://api.tavily.com',
    maxResults: 20,
    ignores: ['user_location'],
    request: (query, { key, baseUrl, count }) => ({
      url: `${baseUrl}/search`,
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: defined({
        query: query.query,
        max_results: count,
        topic: query.category === 'news' || query.category === 'finance' ? query.category : 'general',
        include_domains: listOrNone(query.include_domains),
        exclude_domains: listOrNone(query.exclude_domains),
        start_date: query.start_published_date?.slice(0, 10),
        end_date: query.end_published_date?.slice(0, 10),
        include_raw_content: query.include_text === true ? 'markdown' : undefined,
      }) as JsonObject,
    }),
    results: ({ results }) =>
      rowsOf(results, (row) => ({
        ...resultOf(row),
        ...defined({
          published_date: textOf(row.published_date),
          highlights: textsOf([row.content]),
          text: textOf(row.raw_content),
        }),
      })),
  },
  brave: {
    keyName: 'BRAVE_API_KEY',
    addressName: 'BRAVE_BASE_URL',
    baseUrl: 'https://api.search.brave.com',
    maxResults: 20,
    ignores: ['category', 'include_text'],
    request: (query, { key, baseUrl, count }) => {
      const from = query.start_published_date?.slice(0, 10) ?? '1990-01-01'
      const to = query.end_published_date?.slice(0, 10) ?? '2100-01-01'
      const isDated = query.start_published_date || query.end_published_date
      const parameters = defined({
        q: withSites(query),
        count: String(count),
        extra_snippets: 'true',
        country: query.user_location ?? undefined,
        freshness: isDated ? `${from}to${to}` : undefined,
      })
      return {
        url: `${baseUrl}/res/v1/web/search?${new URLSearchParams(parameters)}`,
        method: 'GET',
        headers: { 'x-subscription-token': key },
      }
    },
    results: ({ web }) =>
      rowsOf((web as JsonObject | undefined)?.results, (row) => ({
        ...resultOf(row),
        ...defined({
          published_date: textOf(row.page_age),
          highlights: textsOf([row.description, ...(Array.isArray(row.extra_snippets) ? row.extra_snippets : [])]),
        }),
      })),
  },
  searxng: {
    addressName: 'SEARXNG_BASE_URL',
    maxResults: 100,
    ignores: ['include_text', 'start_published_date', 'end_published_date', 'user_location'],
    request: (query, { baseUrl }) => {
      const categories = query.category ? { categories: query.category } : {}
      const parameters = new URLSearchParams({ q: withSites(query), format: 'json', ...categories })
      return { url: `${baseUrl}/search?${parameters}`, method: 'GET', headers: {} }
    },
    results: ({ results }) =>
      rowsOf(results, (row) => ({
        ...resultOf(row),
        ...defined({ published_date: textOf(row.publishedDate), highlights: textsOf([row.content]) }),
      })),
  },
}

/** Engines without parameters for domains understand `site:`. */
function withSites({ query, include_domains: included, exclude_domains: excluded }: SearchQuery): string {
  const wanted = (included ?? []).map((domain) => `site:${domain}`)
  const unwanted = (excluded ?? []).map((domain) => `-site:${domain}`)
  return [query, ...(wanted.length > 1 ? [`(${wanted.join(' OR ')})`] : wanted), ...unwanted].join(' ')
}

const listOrNone = (list: string[] | null | undefined): string[] | undefined => (list?.length ? list : undefined)

function rowsOf(rows: unknown, read: (row: JsonObject) => SearchResult): SearchResult[] {
  if (!Array.isArray(rows)) return []
  return rows.filter((row) => typeof row === 'object' && row !== null).map(read)
}

const resultOf = (row: JsonObject): SearchResult => ({ title: textOf(row.title) ?? '', url: textOf(row.url) ?? '' })

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

function textsOf(value: unknown): string[] | undefined {
  const texts = Array.isArray(value) ? value.filter((one) => typeof one === 'string' && one !== '') : []
  return texts.length > 0 ? texts : undefined
}
