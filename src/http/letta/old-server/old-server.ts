import { defined } from '../../../core/defined.ts'
import type { AgentId, ConversationId } from '../../../core/id.ts'
import type { ImportSource, SourceConversation, SourceItem } from '../../../ports/import-source.ts'
import { SourceFault } from '../../../ports/import-source.ts'
import type { SafeFetch } from '../../../ports/safe-fetch.ts'
import type { ServiceContext } from '../../../service/service-context.ts'
import { dateOf, idsIn, type OldAgent, readOldAgent, textOf } from './agent.ts'
import { eachOf, type Items, isNew, OBJECTS, type Reading, readKept, readMcpServers, readProviders } from './lists.ts'
import { newAssembler } from './messages.ts'
import { readOldBlock, readOldPassage, readOldTool } from './objects.ts'
import { canReadAscending, type Listed, listPages, listPagesBackwards } from './pages.ts'
import { newOldServer, type OldServer } from './requests.ts'

const MESSAGES = 500
const PASSAGES = 200

type OldServerDeps = { url: string; fetch: SafeFetch; context: ServiceContext }

/** Reads a retired Letta server, 0.8 to 0.16, over its HTTP API. */
export function oldServerSource({ url, fetch, context }: OldServerDeps): ImportSource {
  return {
    read(request) {
      const { options, key, signal, organizationId } = request
      const server = newOldServer({ url, key, rate: options.rate, fetch, signal, clock: context.deps.clock })
      return readServer({
        server,
        request,
        context: { ...context, organizationId },
        url,
        servers: new Map(),
        seen: new Set(),
      })
    },
  }
}

async function* readServer(reading: Reading): Items {
  yield* readVersion(reading)
  const { options } = reading.request
  yield { type: 'stage', stage: 'Counting agents' }
  const agents = await listAgents(reading)
  yield { type: 'stated', kind: 'agent', count: agents.length }
  yield* stateCounts(agents, reading)
  yield { type: 'stage', stage: 'Providers, MCP servers, tools and blocks' }
  yield* readProviders(reading)
  yield* readMcpServers(reading)
  if (!options.agents) {
    yield* eachOf(reading, '/v1/tools/', 'tool', (tool) => readOldTool(tool, reading.servers, reading.context))
    yield* eachOf(reading, '/v1/blocks/', 'block', (block) => readOldBlock(block, reading.context))
  }
  for (const [index, agent] of agents.entries()) {
    yield {
      type: 'stage',
      stage: `Agent ${index + 1} of ${agents.length}: ${textOf(agent.name).slice(0, 60) || agent.id}`,
    }
    yield* readAgent(agent.id, reading)
  }
  yield { type: 'stage', stage: 'Folders, archives, identities and groups' }
  yield* readKept(reading)
}

async function* readVersion({ server, url }: Reading): Items {
  const health = await server.get('/v1/health/')
  const { version } = (health.type === 'json' ? health.value : {}) as { version?: unknown }
  if (typeof version !== 'string') {
    const why = 'reason' in health ? health.reason : 'GET /v1/health/ is not answered as by a Letta server'
    throw new SourceFault(`${url} does not look like a Letta server: ${why}. Check the address and the port.`)
  }
  yield { type: 'version', version }
}

type NamedAgent = { id: string; name: unknown }

/** Ids and names of all agents, or of those that the request names. */
async function listAgents({ server, request, url }: Reading): Promise<NamedAgent[]> {
  const { agents: wanted } = request.options
  const found: NamedAgent[] = []
  const ids = new Set<string>()
  for await (const page of listPages(server, '/v1/agents/', { limit: OBJECTS })) {
    if (page.type === 'broken')
      throw new SourceFault(
        `The agents of ${url} cannot be listed: ${page.reason}. Run the same import again to go on.`,
      )
    for (const { id, name } of page.items) {
      if (ids.has(id)) continue
      ids.add(id)
      if (!wanted || wanted.includes(id) || wanted.includes(String(name))) found.push({ id, name })
    }
  }
  const missing = (wanted ?? []).filter((one) => !found.some(({ id, name }) => id === one || name === one))
  if (missing.length > 0) throw new SourceFault(`${url} has no agent ${missing.map((one) => `"${one}"`).join(', ')}.`)
  return found
}

/** How many messages and passages each agent has, if the server counts them. */
async function* stateCounts(agents: readonly NamedAgent[], { server }: Reading): Items {
  for (const { id } of agents) {
    const answer = await server.get(`/v1/agents/${id}/context`)
    if (answer.type !== 'json') continue
    const { num_recall_memory: messages, num_archival_memory: passages } = (answer.value ?? {}) as Record<
      string,
      unknown
    >
    if (typeof messages === 'number') yield { type: 'stated', kind: 'message', count: messages }
    if (typeof passages === 'number') yield { type: 'stated', kind: 'passage', count: passages }
  }
}

async function* readAgent(id: string, reading: Reading): Items {
  const { server, context, request } = reading
  const answer = await server.get(`/v1/agents/${id}`)
  if (answer.type !== 'json' || (answer.value as Listed | null)?.id !== id) {
    const reason = 'reason' in answer ? answer.reason : 'The old server lists it and does not show it.'
    yield { type: 'failed', kind: 'agent', id, reason }
    return
  }
  const old = readOldAgent(answer.value as Listed, context)
  for (const tool of old.tools) if (isNew(tool, reading)) yield readOldTool(tool, reading.servers, context)
  for (const block of old.blocks) if (isNew(block, reading)) yield readOldBlock(block, context)
  const conversation = defaultConversation(old.agent)
  yield { type: 'agent', agent: old.agent, blockIds: old.blockIds, tags: old.tags, secrets: old.secrets, conversation }
  const own = await listConversations(id, reading)
  if ('reason' in own) yield { type: 'failed', kind: 'conversation', id: `of ${id}`, reason: own.reason }
  for (const listed of 'items' in own ? own.items : []) yield* readConversation(listed, old, reading)
  if (request.options.dryRun) return
  const hasConversations = 'items' in own
  const query = {
    use_assistant_message: 'false',
    include_err: 'true',
    conversation_id: hasConversations ? 'default' : undefined,
  }
  yield* readMessages(
    { path: `/v1/agents/${id}/messages`, query, sourceId: conversation.sourceId, inView: old.messageIds },
    reading,
  )
  yield* readPassages(old, reading)
}

/** The old server has no id for it: the agent's own stands for it. */
const defaultConversation = ({ id, organizationId, createdAt }: OldAgent['agent']): SourceConversation => ({
  sourceId: id,
  id: `conv-${id.slice('agent-'.length)}` as ConversationId,
  organizationId,
  agentId: id,
  isDefault: true,
  createdAt,
})

type Conversations = { items: Listed[] } | { reason: string } | { none: true }

async function listConversations(agentId: string, { server }: Reading): Promise<Conversations> {
  const items: Listed[] = []
  let isServed = false
  for await (const page of listPages(server, '/v1/conversations/', { limit: OBJECTS, query: { agent_id: agentId } })) {
    if (page.type === 'broken') return { reason: page.reason }
    isServed = true
    items.push(...page.items.filter(({ id }) => id !== 'default'))
  }
  return isServed || (await isListServed(server, agentId)) ? { items } : { none: true }
}

/** An empty list looks like a missing one, but for its status. */
async function isListServed(server: OldServer, agentId: string): Promise<boolean> {
  return (await server.get('/v1/conversations/', { agent_id: agentId, limit: 1 })).type === 'json'
}

async function* readConversation(listed: Listed, old: OldAgent, reading: Reading): Items {
  const { context, request, server } = reading
  const isolated = idsIn(listed.isolated_block_ids)
  for (const id of isolated) {
    const answer = await server.get(`/v1/blocks/${id}`)
    const block = answer.type === 'json' ? (answer.value as Listed) : undefined
    if (block && isNew(block, reading)) yield readOldBlock(block, context)
  }
  yield { type: 'conversation', conversation: conversationOf(listed, old, isolated) }
  if (request.options.dryRun) return
  const history = {
    path: `/v1/conversations/${listed.id}/messages`,
    query: { include_err: 'true' },
    sourceId: listed.id,
    inView: idsIn(listed.in_context_message_ids),
  }
  yield* readMessages(history, reading)
}

function conversationOf(listed: Listed, { agent }: OldAgent, isolated: string[]): SourceConversation {
  const { id, summary, description, hidden, model, model_settings, context_window_limit, archived_at } = listed
  const wire = defined({
    model_settings: (model_settings ?? undefined) as never,
    context_window_limit: (context_window_limit ?? undefined) as never,
  })
  const details = defined({
    summary: textOf(summary) || undefined,
    description: textOf(description) || undefined,
    hidden: hidden === true ? true : undefined,
    model: (textOf(model).includes('/') ? textOf(model) : undefined) as `${string}/${string}` | undefined,
    ownBlocks: isolated.length > 0 ? (isolated as `block-${string}`[]) : undefined,
    wire: Object.keys(wire).length > 0 ? wire : undefined,
  })
  return {
    sourceId: id,
    id: id as ConversationId,
    organizationId: agent.organizationId,
    agentId: agent.id as AgentId,
    isDefault: false,
    createdAt: dateOf(listed.created_at) || agent.createdAt,
    ...defined({
      updatedAt: dateOf(listed.updated_at) || undefined,
      lastMessageAt: dateOf(listed.last_message_at) || undefined,
      archivedAt: dateOf(archived_at) || undefined,
      details: Object.keys(details).length > 0 ? details : undefined,
    }),
  }
}

type History = { path: string; query: Record<string, string | undefined>; sourceId: string; inView: string[] }

async function* readMessages({ path, query, sourceId, inView }: History, reading: Reading): Items {
  const { server, request } = reading
  const assembler = newAssembler({ promptId: inView[0], summaryId: inView[1] })
  const after = await request.cursorOf(sourceId)
  const isAscending = await canReadAscending(server, path)
  let isWhole = true
  const pages = isAscending
    ? listPages(server, path, { limit: MESSAGES, query, after })
    : listPagesBackwards(server, path, { limit: MESSAGES, query })
  for await (const page of pages) {
    if (page.type === 'broken') {
      const id = `after ${page.after ?? 'the beginning'}`
      yield { type: 'failed', kind: 'message', id, parent: sourceId, reason: page.reason }
      isWhole = false
      break
    }
    for (const item of assembler.take(page.items)) yield* itemsOf(item, sourceId)
    if (page.hasRepairedText) yield repairedText(page.items, sourceId)
  }
  for (const item of assembler.end()) yield* itemsOf(item, sourceId)
  yield {
    type: 'conversation-end',
    conversation: sourceId,
    view: inView.length === 0 ? 'all' : { inView: inView.slice(1), isWhole },
  }
}

function* itemsOf(
  item: ReturnType<ReturnType<typeof newAssembler>['end']>[number],
  conversation: string,
): Generator<SourceItem> {
  if (item.type === 'messages') yield { ...item, conversation }
  else yield { type: 'left-out', kind: 'message', id: item.id, parent: conversation, reason: item.reason }
}

/** Names the messages whose bytes were not UTF-8: they are imported with replacement characters. */
function repairedText(items: readonly Listed[], sourceId: string): SourceItem {
  const ids = [...new Set(items.filter((item) => JSON.stringify(item).includes('\ufffd')).map(({ id }) => id))]
  const reason = `Invalid UTF-8 in ${ids.join(', ')} became replacement characters.`
  return { type: 'left-out', kind: 'message', id: `bytes of ${ids[0] ?? 'a page'}`, parent: sourceId, reason }
}

async function* readPassages({ agent }: OldAgent, reading: Reading): Items {
  const path = `/v1/agents/${agent.id}/archival-memory`
  for await (const page of listPages(reading.server, path, { limit: PASSAGES })) {
    if (page.type === 'broken') {
      yield {
        type: 'failed',
        kind: 'passage',
        id: `of ${agent.id} after ${page.after ?? 'the beginning'}`,
        reason: page.reason,
      }
      return
    }
    for (const passage of page.items) yield readOldPassage(passage, agent, reading.context)
  }
}
