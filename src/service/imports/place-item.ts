import type { Agent, Conversation } from '../../core/agent.ts'
import { defined } from '../../core/defined.ts'
import type { AgentId, BlockId, ConversationId, McpServerId } from '../../core/id.ts'
import type { ImportKind, ImportObject } from '../../core/import.ts'
import type { McpTransport } from '../../core/mcp-server.ts'
import { Problem } from '../../core/problem.ts'
import type { StoredTool } from '../../core/stored-tool.ts'
import type { SourceConversation, SourceItem } from '../../ports/import-source.ts'
import type { KnownObject } from '../../ports/import-store.ts'
import { sealSecrets, withSecrets } from '../agents/agent-secrets.ts'
import { refuseAddress } from '../tools/mcp-servers.ts'
import { findToolsByName } from '../tools/tools.ts'
import { idHere, imported, type PlacedKind, type PlacerDeps, rowOf } from './object-rows.ts'
import { newMessagePlacer } from './place-messages.ts'

type Placer = {
  /** Stores an item with the row that says so, unless it has one. */
  take(item: SourceItem): Promise<void>
  flush(): Promise<void>
  cursorOf(conversation: string): Promise<string | undefined>
}

type ItemOf<T extends SourceItem['type']> = Extract<SourceItem, { type: T }>

const OTHER_ROWS_AT_ONCE = 100

export function newPlacer(deps: PlacerDeps): Placer {
  const { lease, context, place } = deps
  const { store } = context.deps
  /** Ids here, by kind and id at the source; undefined: it is not here. Small: only of kinds that others refer to. */
  const here = new Map<string, string | undefined>()
  const conversations = new Map<string, { id: ConversationId; agentId: AgentId } | undefined>()
  const sources = new Map<ConversationId, string>()
  const messages = newMessagePlacer({
    ...deps,
    here: (conversation) => conversations.get(conversation),
    sourceOf: (id) => sources.get(id),
    flushRows,
  })
  let rows: ImportObject[] = []

  async function stateOf(kind: ImportKind, id: string): Promise<KnownObject> {
    return (await store.imports.known(lease, kind, [id])).get(id)!
  }

  const remember = (kind: ImportKind, sourceId: string, id: string | undefined): void => {
    here.set(`${kind} ${sourceId}`, id)
  }

  async function idOf(kind: ImportKind, sourceId: string): Promise<string | undefined> {
    const key = `${kind} ${sourceId}`
    if (!here.has(key)) {
      const known = await stateOf(kind, sourceId)
      here.set(key, known.state === 'known' ? known.object.targetId : undefined)
    }
    return here.get(key)
  }

  async function leaveOut(kind: ImportKind, sourceId: string, reason: string, targetId?: string): Promise<void> {
    remember(kind, sourceId, targetId)
    await place({
      type: 'objects',
      objects: [{ kind, sourceId, parent: '', outcome: 'left-out', reason, ...defined({ targetId }) }],
    })
  }

  /** Its state, if it has no row yet. */
  async function unplaced(kind: PlacedKind, sourceId: string): Promise<KnownObject['state'] | undefined> {
    const known = await stateOf(kind, sourceId)
    if (known.state !== 'known') return known.state
    remember(kind, sourceId, known.object.targetId)
    return undefined
  }

  async function takeTool({ tool }: ItemOf<'tool'>): Promise<void> {
    const state = await unplaced('tool', tool.id)
    if (!state) return
    if (context.deps.tools.find(tool.name))
      return leaveOut('tool', tool.id, `Holdfast has its own tool ${tool.name}, which agents use instead.`)
    const [same] = await store.tools.named(context.organizationId, [tool.name])
    if (same) {
      const isEqual =
        same.sourceCode === tool.sourceCode && JSON.stringify(same.jsonSchema) === JSON.stringify(tool.jsonSchema)
      const reason = isEqual
        ? `The same tool ${tool.name} was here already.`
        : `Another tool named ${tool.name} was here already, and agents use that one. Rename one of them.`
      return leaveOut('tool', tool.id, reason, same.id)
    }
    const serverId = tool.mcp && (await idOf('mcp-server', tool.mcp.serverId))
    if (tool.mcp && !serverId) return leaveOut('tool', tool.id, `Its MCP server ${tool.mcp.serverId} is not here.`)
    const { id, reason } = idHere('tool', tool.id, { state, context })
    const { mcp: _, ...rest } = tool
    const stored: StoredTool = {
      ...rest,
      id,
      organizationId: context.organizationId,
      ...defined({ mcp: tool.mcp && { ...tool.mcp, serverId: serverId as McpServerId } }),
    }
    await place({ type: 'tool', tool: stored, objects: [imported('tool', tool.id, { targetId: id, reason })] })
    remember('tool', tool.id, id)
  }

  async function takeServer({ server, secrets, missingSecrets = [] }: ItemOf<'mcp-server'>): Promise<void> {
    const state = await unplaced('mcp-server', server.id)
    if (!state) return
    const same = (await store.mcpServers.list(context.organizationId)).find(({ name }) => name === server.name)
    if (same) return leaveOut('mcp-server', server.id, `An MCP server named ${server.name} was here already.`, same.id)
    const refusal = refusalOf(server.transport)
    if (refusal) return leaveOut('mcp-server', server.id, refusal)
    const { id, reason: newId } = idHere('mcp-server', server.id, { state, context })
    const missing = missingSecrets.map((name) => `The value of its secret ${name} is not in the file: set it again.`)
    const reason = [...(newId ? [newId] : []), ...missing].join(' ') || undefined
    const sealed = Object.keys(secrets).length === 0 ? undefined : context.deps.mcp.seal(secrets, id)
    const stored = { ...server, id, organizationId: context.organizationId, ...defined({ sealed }) }
    await place({
      type: 'mcp-server',
      server: stored,
      objects: [imported('mcp-server', server.id, { targetId: id, reason })],
    })
    remember('mcp-server', server.id, id)
  }

  function refusalOf(transport: McpTransport): string | undefined {
    try {
      refuseAddress(transport, context)
      return undefined
    } catch (fault) {
      if (!(fault instanceof Problem)) throw fault
      return fault.message
    }
  }

  async function takeBlock({ block }: ItemOf<'block'>): Promise<void> {
    const state = await unplaced('block', block.id)
    if (!state) return
    const { id, reason } = idHere('block', block.id, { state, context })
    const stored = { ...block, id, organizationId: context.organizationId }
    await place({ type: 'block', block: stored, objects: [imported('block', block.id, { targetId: id, reason })] })
    remember('block', block.id, id)
  }

  async function takeAgent(item: ItemOf<'agent'>): Promise<void> {
    const { agent, conversation } = item
    const state = await unplaced('agent', agent.id)
    if (!state) return findConversation(conversation.sourceId)
    const { id, reason } = idHere('agent', agent.id, { state, context })
    const { blockIds, notes } = await attachable(item)
    const stored = await agentHere({ ...agent, id }, { secrets: item.secrets, notes })
    const own = await conversationHere(conversation, id)
    await place({
      type: 'agent',
      agent: stored,
      conversation: own.conversation,
      blockIds,
      tags: item.tags,
      objects: [
        imported('agent', agent.id, { targetId: id, reason }),
        imported('conversation', conversation.sourceId, {
          targetId: own.conversation.id,
          ownerId: id,
          reason: own.reason,
        }),
      ],
    })
    remember('agent', agent.id, id)
    rememberConversation(conversation.sourceId, { id: own.conversation.id, agentId: id })
  }

  /** Blocks that are here, each label once. */
  async function attachable({ blockIds: wanted }: ItemOf<'agent'>): Promise<{ blockIds: BlockId[]; notes: string[] }> {
    const blockIds: BlockId[] = []
    const notes: string[] = []
    const labels = new Set<string>()
    for (const sourceId of wanted) {
      const id = (await idOf('block', sourceId)) as BlockId | undefined
      const block = id && (await store.blocks.get(context.organizationId, id))
      if (!block) notes.push(`block ${sourceId}: not at the source`)
      else if (labels.has(block.label)) notes.push(`block ${sourceId}: a second one labeled ${block.label}`)
      else {
        labels.add(block.label)
        blockIds.push(block.id)
      }
    }
    return { blockIds, notes }
  }

  async function agentHere(
    agent: Agent,
    { secrets, notes }: { secrets: Record<string, string>; notes: string[] },
  ): Promise<Agent> {
    const found = new Set((await findToolsByName(agent.tools, context)).map(({ name }) => name))
    const missing = [...(agent.settings?.missingTools ?? []), ...agent.tools.filter((name) => !found.has(name))]
    const left = [...(agent.settings?.notImported ?? []), ...notes]
    const stored: Agent = {
      ...agent,
      organizationId: context.organizationId,
      tools: [...new Set(agent.tools.filter((name) => found.has(name)))],
      settings: {
        ...agent.settings,
        ...defined({
          missingTools: missing.length > 0 ? missing : undefined,
          notImported: left.length > 0 ? left : undefined,
        }),
      },
    }
    return withSecrets(stored, sealSecrets(agent.id, secrets, context))
  }

  async function conversationHere(
    { sourceId, ...conversation }: SourceConversation,
    agentId: AgentId,
  ): Promise<{ conversation: Conversation; reason?: string | undefined }> {
    const known = await stateOf('conversation', conversation.id)
    const { id, reason } = idHere('conversation', conversation.id, { state: known.state, context })
    const ownBlocks: BlockId[] = []
    for (const block of conversation.details?.ownBlocks ?? []) {
      const own = await idOf('block', block)
      if (own) ownBlocks.push(own as BlockId)
    }
    const { ownBlocks: _, ...kept } = conversation.details ?? {}
    const details = { ...kept, ...defined({ ownBlocks: ownBlocks.length > 0 ? ownBlocks : undefined }) }
    const stored: Conversation = {
      ...conversation,
      id,
      agentId,
      organizationId: context.organizationId,
      contextStart: 0,
      nextPosition: 0,
      ...defined({ details: conversation.details ? details : undefined }),
    }
    return { conversation: stored, reason }
  }

  async function takeConversation({ conversation }: ItemOf<'conversation'>): Promise<void> {
    const { sourceId } = conversation
    const known = await stateOf('conversation', sourceId)
    const agentId = (await idOf('agent', conversation.agentId)) as AgentId | undefined
    if (known.state === 'known') {
      const id = known.object.targetId as ConversationId | undefined
      return rememberConversation(sourceId, id && agentId ? { id, agentId } : undefined)
    }
    if (!agentId) return leaveOut('conversation', sourceId, `Its agent ${conversation.agentId} is not here.`)
    const own = await conversationHere(conversation, agentId)
    await place({
      type: 'conversation',
      conversation: own.conversation,
      objects: [
        imported('conversation', sourceId, { targetId: own.conversation.id, ownerId: agentId, reason: own.reason }),
      ],
    })
    rememberConversation(sourceId, { id: own.conversation.id, agentId })
  }

  /** Conversations of this pass, and those that an earlier one placed with their agent. */
  async function findConversation(sourceId: string): Promise<void> {
    if (conversations.has(sourceId)) return
    const known = await stateOf('conversation', sourceId)
    const found = known.state === 'known' && known.object.targetId && known.object.ownerId ? known.object : undefined
    rememberConversation(sourceId, found && { id: found.targetId as ConversationId, agentId: found.ownerId! })
  }

  function rememberConversation(sourceId: string, found: { id: ConversationId; agentId: AgentId } | undefined): void {
    conversations.set(sourceId, found)
    if (found) sources.set(found.id, sourceId)
  }

  async function flushRows(): Promise<void> {
    if (rows.length === 0) return
    const waiting = rows
    rows = []
    const fresh: ImportObject[] = []
    for (const row of waiting) {
      const known = (await store.imports.known(lease, row.kind, [row.sourceId], row.parent)).get(row.sourceId)!
      if (known.state !== 'known' && !fresh.some((one) => isSameObject(one, row))) fresh.push(row)
    }
    if (fresh.length > 0) await place({ type: 'objects', objects: fresh })
  }

  async function take(item: SourceItem): Promise<void> {
    switch (item.type) {
      case 'stage':
      case 'version':
      case 'stated':
        return
      case 'tool':
        return takeTool(item)
      case 'mcp-server':
        return takeServer(item)
      case 'block':
        return takeBlock(item)
      case 'agent':
        return takeAgent(item)
      case 'conversation':
        return takeConversation(item)
      case 'messages':
        await findConversation(item.conversation)
        return messages.take(item)
      case 'conversation-end':
        await findConversation(item.conversation)
        return messages.end(item)
      case 'passage':
        return messages.takePassage(item, (await idOf('agent', item.passage.agentId)) as AgentId | undefined)
      case 'kept':
      case 'left-out':
      case 'failed':
        rows.push(rowOf(item))
        if (rows.length >= OTHER_ROWS_AT_ONCE) await flushRows()
    }
  }

  return {
    take,
    async flush() {
      await messages.flush()
      await flushRows()
    },
    async cursorOf(conversation) {
      const known = await stateOf('conversation', conversation)
      return known.state === 'known' ? known.object.cursor : undefined
    },
  }
}

const isSameObject = (one: ImportObject, other: ImportObject): boolean =>
  one.kind === other.kind && one.sourceId === other.sourceId && one.parent === other.parent
