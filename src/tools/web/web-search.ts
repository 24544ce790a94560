import { defined } from '../../core/defined.ts'
import { errorText } from '../../core/error-text.ts'
import { DEFAULT_ORGANIZATION } from '../../core/id.ts'
import type { JsonObject } from '../../core/json.ts'
import { SEARCH_ENGINE_NAMES, type SearchEngineName } from '../../core/search-engine.ts'
import type { Tool, ToolContext } from '../../ports/tool.ts'
import { defineTool, failure, success } from '../define-tool.ts'
import { markAsData } from './mark-as-data.ts'
import { SEARCH_ENGINES, type SearchEngine, type SearchQuery } from './search-engines.ts'
import type { WebToolDeps } from './web-tool-deps.ts'

const DEFAULT_RESULTS = 10
const ERROR_CHARS = 300

/** Searches the web through the configured engine. Repeatable: it only asks. */
export function webSearch(deps: WebToolDeps): Tool {
  return defineTool<SearchQuery>({
    name: 'web_search',
    description: 'Searches the web. Returns titles, addresses and excerpts of pages; fetch_webpage reads a page.',
    inputSchema: INPUT_SCHEMA,
    effects: 'none',
    parallel: true,
    run: async (query, context) => {
      const service = await chooseService(context, deps)
      if ('fault' in service) return failure(service.fault)
      const { engine, key, baseUrl, name } = service
      const count = Math.min(query.num_results ?? DEFAULT_RESULTS, engine.maxResults)
      const { url, method, headers, body } = engine.request(query, { key, baseUrl, count })
      try {
        const response = await deps.fetchSearch(url, {
          method,
          headers: {
            accept: 'application/json',
            ...headers,
            ...defined({ 'content-type': body && 'application/json' }),
          },
          signal: context.signal,
          ...defined({ body: body && JSON.stringify(body) }),
        })
        const text = await response.text()
        if (!response.ok) return failure(describeRefusal(name, response.status, text.replaceAll(key || '\0', '***')))
        const results = engine.results(JSON.parse(text) as JsonObject).slice(0, count)
        const notes = notesOn(query, engine, name)
        const answer = { query: query.query, results, ...defined({ notes: notes.length > 0 ? notes : undefined }) }
        return success(markAsData(JSON.stringify(answer, null, 1), { search: name }))
      } catch (fault) {
        return failure(`The search at ${name} failed: ${errorText(fault)}.`)
      }
    },
  })
}

type Service = { name: SearchEngineName; engine: SearchEngine; key: string; baseUrl: string }

/** The configured engine, otherwise the first one with a key of the agent or of the server. */
async function chooseService(context: ToolContext, deps: WebToolDeps): Promise<Service | { fault: string }> {
  const { organizationId = DEFAULT_ORGANIZATION, agentId } = context
  const { engine: chosen, baseUrl: configuredUrl } = deps.search
  for (const name of chosen ? [chosen] : SEARCH_ENGINE_NAMES) {
    const engine = SEARCH_ENGINES[name]
    const isChosen = chosen === name
    const address = (isChosen && configuredUrl) || deps.environment[engine.addressName] || engine.baseUrl
    const key = engine.keyName
      ? ((await deps.secretOf(organizationId, agentId, engine.keyName)) ?? deps.environment[engine.keyName] ?? '')
      : ''
    if (address && (key !== '' || !engine.keyName)) return { name, engine, key, baseUrl: address.replace(/\/$/, '') }
    if (isChosen) return { fault: missingFor(name, engine) }
  }
  return {
    fault:
      'The web cannot be searched: no search engine is configured. Set EXA_API_KEY, TAVILY_API_KEY or BRAVE_API_KEY as a ' +
      'secret of this agent or in the environment of the server, or SEARXNG_BASE_URL in its environment.',
  }
}

const missingFor = (name: SearchEngineName, { keyName, addressName }: SearchEngine): string =>
  keyName
    ? `The web cannot be searched: ${name} needs a key. Set ${keyName} as a secret of this agent or in the environment of the server.`
    : `The web cannot be searched: ${name} needs an address. Set ${addressName} in the environment of the server, or web.search_url in config.yaml.`

function describeRefusal(name: string, status: number, text: string): string {
  const detail = text.replace(/\s+/g, ' ').trim().slice(0, ERROR_CHARS)
  return `The search engine ${name} answered HTTP ${status}${detail ? `: ${detail}` : ''}`
}

function notesOn(query: SearchQuery, { ignores, maxResults }: SearchEngine, name: string): string[] {
  const ignored = ignores.filter(
    (field) => query[field] !== undefined && query[field] !== null && query[field] !== false,
  )
  return [
    ...(ignored.length > 0 ? [`${name} has no ${ignored.join(', ')}; the search was made without.`] : []),
    ...((query.num_results ?? 0) > maxResults ? [`${name} returns at most ${maxResults} results.`] : []),
  ]
}

const nullable = (schema: JsonObject): JsonObject => ({ ...schema, type: [schema.type as string, 'null'] })
const domains = (description: string) =>
  nullable({ type: 'array', items: { type: 'string', minLength: 1, maxLength: 253 }, maxItems: 50, description })

const INPUT_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    query: { type: 'string', minLength: 1, maxLength: 2_000, description: 'What to look for.' },
    num_results: nullable({
      type: 'integer',
      minimum: 1,
      maximum: 100,
      description: 'Number of results; 10 by default.',
    }),
    category: nullable({ type: 'string', description: 'A kind of page, for example news, research paper or company.' }),
    include_text: nullable({ type: 'boolean', description: 'Return the text of the pages too; false by default.' }),
    include_domains: domains('Search only in these domains.'),
    exclude_domains: domains('Leave out these domains.'),
    start_published_date: nullable({ type: 'string', description: 'Published at or after this date, as ISO 8601.' }),
    end_published_date: nullable({ type: 'string', description: 'Published at or before this date, as ISO 8601.' }),
    user_location: nullable({ type: 'string', description: 'The country of the person, as two letters.' }),
  },
  required: ['query'],
}
