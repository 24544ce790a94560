import { defined } from '../../../core/defined.ts'
import { DEFAULT_ORGANIZATION } from '../../../core/id.ts'
import { type Message, textOf } from '../../../core/message.ts'
import type { Tool, ToolAnswer, ToolContext } from '../../../ports/tool.ts'
import { defineTool, failure, success } from '../../define-tool.ts'
import type { MemoryToolDeps } from './memory-tool-deps.ts'
import { parseTime } from './parse-time.ts'

const DEFAULT_RESULTS = 10
/** Characters shown of each message. */
const MAX_EXCERPT = 2_000

type ConversationSearchInput = {
  query?: string | null
  roles?: ('assistant' | 'user' | 'tool')[] | null
  limit?: number | null
  start_date?: string | null
  end_date?: string | null
}

type SearchDeps = Pick<MemoryToolDeps, 'findMessages'> & { store: Pick<MemoryToolDeps['store'], 'messageSearch'> }

export const conversationSearch = (deps: SearchDeps): Tool =>
  defineTool<ConversationSearchInput>({
    name: 'conversation_search',
    description: 'Searches everything that was said in your conversations, also what is no longer in view.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: ['string', 'null'], description: 'Words to look for; without any, what was said last.' },
        roles: { type: ['array', 'null'], items: { enum: ['assistant', 'user', 'tool'] }, description: 'Who said it.' },
        limit: { type: ['integer', 'null'], minimum: 1, maximum: 50, description: 'Maximum number of results.' },
        start_date: { type: ['string', 'null'], description: 'Earliest time, as ISO 8601.' },
        end_date: { type: ['string', 'null'], description: 'Latest time, as ISO 8601.' },
      },
    },
    effects: 'none',
    parallel: true,
    run: async ({ start_date, end_date, ...wanted }, context) => {
      const from = parseTime(start_date, 'start')
      const to = parseTime(end_date, 'end')
      if (from === 'unreadable' || to === 'unreadable')
        return failure('start_date and end_date must be ISO 8601, for example 2026-03-01 or 2026-03-01T12:00.')
      return search({ ...wanted, from, to }, context, deps)
    },
  })

const PAGE = 10
/** Results are read from the beginning for each page, so a page far down is refused. */
const MAX_PAGE = 20

/** The search of older agents of the retired server. */
export const conversationSearchByDate = (deps: SearchDeps): Tool =>
  defineTool<{ start_date: string; end_date: string; page?: number | null }>({
    name: 'conversation_search_date',
    description: 'Lists what was said in your conversations between two dates, newest first.',
    inputSchema: {
      type: 'object',
      properties: {
        start_date: { type: 'string', description: 'The first day, as YYYY-MM-DD.' },
        end_date: { type: 'string', description: 'The last day, as YYYY-MM-DD.' },
        page: {
          type: ['integer', 'null'],
          minimum: 0,
          maximum: MAX_PAGE,
          description: 'Page of the results, for a second call. Default: 0.',
        },
      },
      required: ['start_date', 'end_date'],
    },
    effects: 'none',
    parallel: true,
    run: async ({ start_date, end_date, page }, context) => {
      const from = parseTime(start_date, 'start')
      const to = parseTime(end_date, 'end')
      if (typeof from !== 'number' || typeof to !== 'number')
        return failure('start_date and end_date must be dates, for example 2026-03-01.')
      const skip = (page ?? 0) * PAGE
      return search({ roles: ['assistant', 'user'], from, to, limit: skip + PAGE, skip }, context, deps)
    },
  })

type Search = Pick<ConversationSearchInput, 'query' | 'roles' | 'limit'> & {
  from: number | undefined
  to: number | undefined
  skip?: number
}

async function search(
  { query: text, roles, limit, from, to, skip = 0 }: Search,
  { organizationId = DEFAULT_ORGANIZATION, agentId, signal }: ToolContext,
  { store, findMessages }: SearchDeps,
): Promise<ToolAnswer> {
  const query = {
    text: text ?? '',
    roles: roles?.length ? roles : ['assistant', 'user', 'tool'],
    limit: limit ?? DEFAULT_RESULTS,
    ...defined({ from, to }),
  }
  const answer = await findMessages?.({ organizationId, agentId, query, signal })
  const found = answer
    ? answer.found.map(({ item }) => item)
    : await store.messageSearch.search(organizationId, agentId, query)
  const results = found.slice(skip).flatMap((message) => {
    const content = searchableText(message)
    const { role } = message.body
    return content === '' ? [] : [{ timestamp: new Date(message.createdAt).toISOString(), role, content }]
  })
  const notice = answer?.fallback ? `\n(Searched by words alone: ${answer.fallback})` : ''
  return success((results.length === 0 ? 'Nothing was found.' : JSON.stringify(results, null, 1)) + notice)
}

function searchableText({ body }: Message): string {
  switch (body.role) {
    case 'user':
    case 'system':
    case 'assistant':
      return textOf(body.content).slice(0, MAX_EXCERPT)
    case 'tool':
      return body.outcomes
        .map(({ output }) => output)
        .join('\n')
        .slice(0, MAX_EXCERPT)
    case 'summary':
      return body.text.slice(0, MAX_EXCERPT)
    case 'approval':
      return ''
  }
}
