import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { type TestContext, test } from 'node:test'
import { newSafeFetch } from '../../src/net/safe-fetch.ts'
import { webSearch } from '../../src/tools/web/web-search.ts'
import type { WebToolDeps } from '../../src/tools/web/web-tool-deps.ts'
import { startWeb, toolContext } from './fixture-web.ts'

type Asked = { url: string; headers: IncomingMessage['headers']; body: unknown }

/** The answers of the four services in the form of their documentation. */
const ANSWERS: Record<string, unknown> = {
  exa: {
    results: [
      {
        title: 'A',
        url: 'https://a.test/',
        publishedDate: '2026-01-02',
        author: 'Ann',
        highlights: ['h'],
        summary: 's',
      },
    ],
  },
  tavily: { results: [{ title: 'A', url: 'https://a.test/', content: 'h', score: 0.9, published_date: '2026-01-02' }] },
  brave: { web: { results: [{ title: 'A', url: 'https://a.test/', description: 'h', page_age: '2026-01-02' }] } },
  searxng: {
    results: [
      { title: 'A', url: 'https://a.test/', content: 'h', publishedDate: '2026-01-02' },
      { title: 'B', url: 'https://b.test/' },
    ],
  },
}

async function newSearch(context: TestContext, deps: Partial<WebToolDeps> & { answer?: unknown; status?: number }) {
  const asked: Asked[] = []
  const { engine = 'exa' } = deps.search ?? {}
  const host = await startWeb(context, async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    asked.push({ url: request.url!, headers: request.headers, body: body && JSON.parse(body) })
    response.writeHead(deps.status ?? 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(deps.answer ?? ANSWERS[engine]))
  })
  const tool = webSearch({
    fetchPage: newSafeFetch({ trust: 'public' }),
    fetchSearch: newSafeFetch({ trust: 'configured' }),
    environment: deps.environment ?? {},
    search: { engine, baseUrl: `http://${host}/` },
    secretOf: deps.secretOf ?? (async () => undefined),
  })
  const search = async (input: object) => {
    const { status, output } = await tool.run({ query: 'holdfast', ...input }, toolContext())
    const json = /^<web_content search="\w+">\n(.*)\n<\/web_content>/s.exec(output)?.[1]
    return { status, output, answer: json ? JSON.parse(json) : undefined }
  }
  return { asked, search }
}

const FOUND = { title: 'A', url: 'https://a.test/', published_date: '2026-01-02', highlights: ['h'] }
const FILTERS = {
  num_results: 3,
  include_domains: ['a.test', 'b.test'],
  exclude_domains: ['c.test'],
  start_published_date: '2026-01-01',
  end_published_date: '2026-02-01',
}

test('Exa gets every argument, and the key of the agent before the one of the server', async (context) => {
  const { asked, search } = await newSearch(context, {
    environment: { EXA_API_KEY: 'of-server' },
    secretOf: async (_, agentId, name) => (agentId === 'agent-1' && name === 'EXA_API_KEY' ? 'of-agent' : undefined),
  })
  const { answer } = await search({ ...FILTERS, category: 'news', include_text: true, user_location: 'NO' })
  assert.deepEqual(answer, { query: 'holdfast', results: [{ ...FOUND, author: 'Ann', summary: 's' }] })
  const { contents, ...body } = asked[0]!.body as { contents: { text: boolean } }
  assert.deepEqual(body, {
    query: 'holdfast',
    type: 'auto',
    numResults: 3,
    category: 'news',
    includeDomains: ['a.test', 'b.test'],
    excludeDomains: ['c.test'],
    startPublishedDate: '2026-01-01',
    endPublishedDate: '2026-02-01',
    userLocation: 'NO',
  })
  assert.equal(contents.text, true)
  assert.equal(asked[0]!.headers['x-api-key'], 'of-agent')
})

test('Tavily, Brave and SearXNG get what they can do, and the answer names what they cannot', async (context) => {
  const tavily = await newSearch(context, { search: { engine: 'tavily' }, environment: { TAVILY_API_KEY: 't' } })
  const byTavily = await tavily.search({ ...FILTERS, num_results: 50, user_location: 'NO' })
  assert.deepEqual(byTavily.answer.results, [FOUND])
  assert.deepEqual(byTavily.answer.notes, [
    'tavily has no user_location; the search was made without.',
    'tavily returns at most 20 results.',
  ])
  assert.equal(tavily.asked[0]!.headers.authorization, 'Bearer t')
  assert.deepEqual((tavily.asked[0]!.body as { include_domains: string[] }).include_domains, ['a.test', 'b.test'])

  const brave = await newSearch(context, { search: { engine: 'brave' }, environment: { BRAVE_API_KEY: 'b' } })
  assert.deepEqual((await brave.search(FILTERS)).answer.results, [FOUND])
  const asked = new URL(brave.asked[0]!.url, 'http://x')
  assert.equal(asked.searchParams.get('q'), 'holdfast (site:a.test OR site:b.test) -site:c.test')
  assert.equal(asked.searchParams.get('freshness'), '2026-01-01to2026-02-01')
  assert.equal(brave.asked[0]!.headers['x-subscription-token'], 'b')

  const searxng = await newSearch(context, { search: { engine: 'searxng' } })
  const bySearxng = await searxng.search({ num_results: 1, include_text: true })
  assert.deepEqual(bySearxng.answer, {
    query: 'holdfast',
    results: [FOUND],
    notes: ['searxng has no include_text; the search was made without.'],
  })
})

test('a missing key, a refused key and an answer that is no search result end in a sentence without the key', async (context) => {
  const missing = await newSearch(context, {})
  assert.match(
    (await missing.search({})).output,
    /^The web cannot be searched: exa needs a key. Set EXA_API_KEY as a secret/,
  )
  assert.equal(missing.asked.length, 0)
  const environment = { EXA_API_KEY: 'very-secret' }
  const refused = await newSearch(context, { environment, status: 401, answer: { error: 'bad key very-secret' } })
  const { status, output } = await refused.search({})
  assert.deepEqual([status, output], ['error', 'The search engine exa answered HTTP 401: {"error":"bad key ***"}'])
  const odd = await newSearch(context, { environment, answer: { results: [null, 'x', { url: 7 }] } })
  assert.deepEqual((await odd.search({})).answer.results, [{ title: '', url: '' }])
})

test('without a choice the first engine with a key or an address is asked', async () => {
  const tool = webSearch({
    fetchPage: newSafeFetch({ trust: 'public' }),
    fetchSearch: async (url) => Response.json({ results: [], web: {}, asked: String(url) }),
    environment: { BRAVE_API_KEY: 'b', SEARXNG_BASE_URL: 'http://127.0.0.1:1' },
    search: {},
    secretOf: async () => undefined,
  })
  assert.match((await tool.run({ query: 'x' }, toolContext())).output, /^<web_content search="brave">/)
})
