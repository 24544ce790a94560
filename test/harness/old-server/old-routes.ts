import {
  agentAt,
  agentId,
  blockAt,
  blockId,
  conversationAt,
  conversationId,
  coreTools,
  messageId,
  type OldObject,
  passageAt,
  passageId,
  slicesAt,
  toolAt,
  toolId,
  type WorldSize,
} from './old-world.ts'

/** Versions whose routes differ. */
export type OldVersion = '0.8.0' | '0.12.0' | '0.16.8'

type RoutesOptions = {
  version: OldVersion
  size: WorldSize
  edit(object: OldObject): OldObject
  /** Stored messages that no list shows. */
  hides?(id: string): boolean
}
type OldAnswer = { status: number; value: unknown }

const found = (value: unknown): OldAnswer => ({ status: 200, value })
const NOT_FOUND: OldAnswer = { status: 404, value: { detail: 'Not Found' } }

/** The routes of the old server, by version. */
export function newOldRoutes({ version, size, edit, hides = () => false }: RoutesOptions) {
  const isOldest = version === '0.8.0'
  const hasConversations = version === '0.16.8'
  const agentNumber = (id: string) => numberIn(id, agentId, size.agents)

  return (method: string, url: URL, body: string): OldAnswer => {
    const path = url.pathname.replace(/\/+$/, '')
    const query = url.searchParams
    const [, , root = '', id = '', part = '', sub = ''] = path.split('/')
    if (method === 'POST' && path === '/v1/messages/search') return found(searchMessages(JSON.parse(body), size))
    if (method !== 'GET') return NOT_FOUND
    switch (root) {
      case 'health':
        return found({ version, status: 'ok' })
      case 'agents':
        return id === '' || id === 'count' ? agents(id, query) : agentRoute(id, [part, sub], query)
      case 'blocks':
        if (id === '')
          return found(page(size.agents + 1, query, { at: (index) => edit(blockAt(index)), idAt: blockId, isOldest }))
        return one(numberIn(id, blockId, size.agents + 1), blockAt)
      case 'tools':
        if (id === 'mcp')
          return isOldest
            ? found({
                search: { server_name: 'search', type: 'streamable_http', server_url: 'https://mcp.example.com/mcp' },
              })
            : NOT_FOUND
        if (id === '') return found(page(size.tools + 3, query, { at: toolOrCore, idAt: toolOrCoreId, isOldest }))
        return one(numberIn(id, toolId, size.tools), toolAt)
      case 'conversations':
        return hasConversations ? conversationRoute(id, part, query) : NOT_FOUND
      case 'mcp-servers':
        if (isOldest) return NOT_FOUND
        return found([
          {
            id: 'mcp_server-00000000-0000-4000-8000-000000000001',
            server_name: 'search',
            mcp_server_type: 'streamable_http',
            server_url: 'https://mcp.example.com/mcp',
            auth_token: 'mcp-token',
          },
        ])
      case 'providers':
        return found(query.get('after') ? [] : [{ id: 'provider-1', name: 'openai', provider_type: 'openai' }])
      case 'folders':
      case 'sources':
        if ((root === 'sources') !== isOldest) return NOT_FOUND
        return folderRoute(id, part, query)
      case 'archives':
        return hasConversations
          ? found(query.get('after') ? [] : [{ id: 'archive-1', name: 'shared', embedding: 'test/small' }])
          : NOT_FOUND
      case 'identities':
        return found(
          query.get('after') ? [] : [{ id: 'identity-1', identifier_key: 'ada', name: 'Ada', agent_ids: [agentId(0)] }],
        )
      case 'groups':
        return found(
          query.get('after') ? [] : [{ id: 'group-1', manager_type: 'round_robin', agent_ids: [agentId(0)] }],
        )
      case 'tags':
        return found(['tea', 'team-0', 'team-1', 'team-2', 'team-3', 'team-4'].slice(0, 1 + Math.min(5, size.agents)))
      default:
        return NOT_FOUND
    }
  }

  function one(number: number | undefined, at: (index: number) => OldObject): OldAnswer {
    return number === undefined ? NOT_FOUND : found(edit(at(number)))
  }

  function agents(id: string, query: URLSearchParams): OldAnswer {
    if (id === 'count') return found(size.agents)
    const name = query.get('name')
    const all = page(size.agents, query, { at: (index) => edit(agentAt(index, size)), idAt: agentId, isOldest })
    return found(name ? all.filter((agent) => agent.name === name) : all)
  }

  function agentRoute(id: string, [part, sub]: [string, string], query: URLSearchParams): OldAnswer {
    const agent = agentNumber(id)
    if (agent === undefined) return NOT_FOUND
    if (part === '') return found(edit(agentAt(agent, size)))
    if (part === 'context')
      return found({
        num_recall_memory: size.messages * (1 + (hasConversations ? size.conversations : 0)),
        num_archival_memory: size.passages,
      })
    if (part === 'messages') {
      const wanted = query.get('conversation_id')
      if (wanted && wanted !== 'default' && hasConversations) return NOT_FOUND
      return found(messages(agent, 0, query))
    }
    if (part === 'archival-memory' && sub === 'search') return found(searchPassages(agent, query, size))
    if (part === 'archival-memory')
      return found(
        page(size.passages, query, {
          at: (index) => edit(passageAt(agent, index)),
          idAt: (index) => passageId(agent, index),
          isOldest,
        }),
      )
    if (part === 'core-memory') return found([blockAt(0), blockAt(agent + 1)].map(edit))
    if (part === 'tools') return found([toolAt(agent % size.tools), coreTools()[0]])
    return NOT_FOUND
  }

  function conversationRoute(id: string, part: string, query: URLSearchParams): OldAnswer {
    if (id === '') {
      const agent = agentNumber(query.get('agent_id') ?? '')
      if (agent === undefined) return found([])
      const at = (index: number) => edit(conversationAt(agent, index + 1, size))
      return found(page(size.conversations, query, { at, idAt: (index) => conversationId(agent, index + 1), isOldest }))
    }
    for (let agent = 0; agent < size.agents; agent++)
      for (let conversation = 1; conversation <= size.conversations; conversation++)
        if (conversationId(agent, conversation) === id)
          return found(
            part === 'messages'
              ? messages(agent, conversation, query)
              : edit(conversationAt(agent, conversation, size)),
          )
    return NOT_FOUND
  }

  /** A page counts stored messages; each has one or several slices. */
  function messages(agent: number, conversation: number, query: URLSearchParams): OldObject[] {
    // The request for an approval is a stored message too, with the id below that of its answer.
    for (const name of ['after', 'before']) {
      const cursor = query.get(name)
      if (cursor?.endsWith('ff')) query.set(name, idAbove(cursor))
    }
    const at = (index: number): OldObject => ({ id: messageId(agent, conversation, index), index })
    const idAt = (index: number) => messageId(agent, conversation, index)
    const numbers = (
      isOldest ? newestPage(size.messages, query, { idAt }) : page(size.messages, query, { at, idAt, isOldest })
    ).map(({ index }) => index as number)
    return numbers
      .filter((index) => !hides(idAt(index)))
      .flatMap((index) => slicesAt(agent, conversation, index, size).map(edit))
  }

  function folderRoute(id: string, part: string, query: URLSearchParams): OldAnswer {
    if (query.get('after')) return found([])
    if (id === '') return found([{ id: 'source-1', name: 'papers', description: 'Papers' }])
    if (part === 'files')
      return found([
        { id: 'file-1', file_name: 'tea.txt', content: query.get('include_content') ? 'Tea is good.' : null },
      ])
    if (part === 'passages') return found([{ id: 'passage-of-file', text: 'Tea is good.', file_id: 'file-1' }])
    return NOT_FOUND
  }

  function toolOrCore(index: number): OldObject {
    return edit(index < size.tools ? toolAt(index) : coreTools()[index - size.tools]!)
  }

  function toolOrCoreId(index: number): string {
    return index < size.tools ? toolId(index) : coreTools()[index - size.tools]!.id
  }
}

const idAbove = (id: string): string => {
  const hex = (BigInt(`0x${id.slice(8).replaceAll('-', '')}`) + 1n).toString(16).padStart(32, '0')
  return `message-${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

type PageOptions = { at(index: number): OldObject; idAt(index: number): string; isOldest: boolean }

/** Ids are in order of numbers, so a binary search finds one. */
function numberIn(id: string, idAt: (index: number) => string, count: number): number | undefined {
  let low = 0
  let high = count - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const there = idAt(middle)
    if (there === id) return middle
    if (there < id) low = middle + 1
    else high = middle - 1
  }
  return undefined
}

/**
 * A page as the old server makes it: an unknown cursor is ignored, and a descending page after a cursor repeats objects
 * of the page before it.
 */
function page(count: number, query: URLSearchParams, { at, idAt, isOldest }: PageOptions): OldObject[] {
  const limit = Number(query.get('limit') ?? 50)
  const isAscending = isOldest
    ? query.get('ascending') === 'true'
    : query.get('order') === 'asc' || query.get('ascending') === 'true'
  const after = query.get('after') === null ? undefined : numberIn(query.get('after')!, idAt, count)
  const numbers: number[] = []
  if (isAscending)
    for (let index = (after ?? -1) + 1; index < count && numbers.length < limit; index++) numbers.push(index)
  else
    for (let index = Math.min(count - 1, (after ?? count) + 1); index >= 0 && numbers.length < limit; index--)
      numbers.push(index)
  return numbers.map(at)
}

/** Before 0.9 a list of messages was the newest page before or after a cursor, in chronological order. */
function newestPage(count: number, query: URLSearchParams, { idAt }: Pick<PageOptions, 'idAt'>): OldObject[] {
  const limit = Number(query.get('limit') ?? 10)
  const cursor = (name: string) => (query.get(name) === null ? undefined : numberIn(query.get(name)!, idAt, count))
  const end = cursor('before') ?? count
  const begin = Math.max(0, (cursor('after') ?? -1) + 1, end - limit)
  return Array.from({ length: Math.max(0, end - begin) }, (_, index) => ({
    id: idAt(begin + index),
    index: begin + index,
  }))
}

function searchPassages(agent: number, query: URLSearchParams, size: WorldSize) {
  const words = (query.get('query') ?? '').toLowerCase().split(/\s+/)
  const results = Array.from({ length: size.passages }, (_, index) => passageAt(agent, index))
    .filter(({ text }) => words.some((word) => String(text).toLowerCase().includes(word)))
    .map(({ id, text, created_at, tags }) => ({ id, content: text, timestamp: created_at, tags }))
  return { results, count: results.length }
}

/** Results of the newest version: what was said in any conversation, with the agent and conversation of each. */
function searchMessages({ query, agent_id }: { query: string; agent_id: string }, size: WorldSize) {
  const agent = numberIn(agent_id, agentId, size.agents) ?? 0
  return Array.from({ length: 1 + size.conversations }, (_, conversation) =>
    Array.from({ length: size.messages }, (_, index) => slicesAt(agent, conversation, index, size))
      .flat()
      .filter(({ content }) => typeof content === 'string' && content.toLowerCase().includes(query.toLowerCase()))
      .map(({ id, content, date, message_type }) => ({
        message_id: id,
        message_type,
        content,
        created_at: date,
        agent_id: agentId(agent),
        conversation_id: conversation === 0 ? null : conversationId(agent, conversation),
      })),
  ).flat()
}
