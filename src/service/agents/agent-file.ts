import type { Agent, AgentSettings, Conversation } from '../../core/agent.ts'
import { type Block, cleanText, DEFAULT_BLOCK_LIMIT } from '../../core/block.ts'
import { defined } from '../../core/defined.ts'
import { forkPoint } from '../../core/fork.ts'
import type { AgentId } from '../../core/id.ts'
import { compilePrompt } from '../../core/memory-prompt.ts'
import { type Message, type MessageBody, type NewMessage, NO_RUN } from '../../core/message.ts'
import type { Passage } from '../../core/passage.ts'
import { Problem } from '../../core/problem.ts'
import type { StoredTool } from '../../core/stored-tool.ts'
import type { TargetHandle } from '../../core/target.ts'
import type { NewAgent } from '../../ports/store.ts'
import { promptOf } from '../conversations/prompt.ts'
import { type NewBlock, toBlock } from '../memory/blocks.ts'
import { listPassages } from '../memory/passages.ts'
import { listMessages } from '../messages/messages.ts'
import { requireRoomFor } from '../people/storage-quota.ts'
import type { ServiceContext } from '../service-context.ts'
import { findToolsByName, type NewTool, toStoredTool } from '../tools/tools.ts'
import { requireToolsRight } from '../tools/tools-right.ts'
import { blocksOf } from './agent-blocks.ts'
import { type Secrets, sealSecrets, withSecrets } from './agent-secrets.ts'
import { toolsOf } from './agent-tools.ts'
import { requireUniqueLabels } from './create-agent.ts'
import { refuseRepeatedTargets, requireFallback } from './model-chain.ts'

export type ExportedAgent = {
  agent: Agent
  blocks: Block[]
  tools: StoredTool[]
  tags: string[]
  prompt: string
  /** The history of one conversation, up to `end`, the last position where no call waits for its result. Read in pages. */
  messages: AsyncIterable<Message>
  end: number
  contextStart: number
  passages: AsyncIterable<Passage>
}

const PAGE = 1_000

/** Everything another server needs to create the same agent. */
export async function exportAgent(
  agent: Agent,
  conversation: Conversation,
  context: ServiceContext,
): Promise<ExportedAgent> {
  const { store } = context.deps
  const [blocks, tools, tags, prompt, modelContext] = await Promise.all([
    blocksOf(agent, context),
    toolsOf(agent, context),
    store.tags.ofAgents(context.organizationId, [agent.id]),
    promptOf(conversation.id, context),
    store.messages.context(conversation.id),
  ])
  const { end, contextStart } = forkPoint(modelContext, conversation.contextStart)
  const messages = allMessages(conversation, end, context)
  const passages = allPassages(agent, context)
  return { agent, blocks, tools, tags: tags.get(agent.id) ?? [], prompt, messages, end, contextStart, passages }
}

async function* allMessages({ id }: Conversation, end: number, context: ServiceContext): AsyncGenerator<Message> {
  for (let after = -1; ; ) {
    const page = await listMessages(id, { limit: PAGE, take: 'oldest', after, before: end }, context)
    yield* page
    const last = page.at(-1)
    if (!last) return
    after = last.position
  }
}

async function* allPassages(agent: Agent, context: ServiceContext): AsyncGenerator<Passage> {
  for (let last: Passage | undefined; ; ) {
    const page = await listPassages(agent, { limit: PAGE, order: 'asc', ...defined({ after: last?.id }) }, context)
    yield* page
    last = page.at(-1)
    if (!last) return
  }
}

/** One agent of an agent file. */
export type AgentImport = {
  name: string
  system: string
  model: TargetHandle
  fallback: readonly string[]
  settings: AgentSettings
  blocks: NewBlock[]
  tags: string[]
  /** Names, in order. */
  tools: string[]
  /** Tools whose source code is in the file. */
  sources: NewTool[]
  messages: { body: MessageBody; createdAt?: number }[]
  /** Index of the first message that the model sees. */
  contextStart: number
  passages: { text: string; tags: string[]; createdAt?: number }[]
  secrets: Secrets
}

type ImportAgentsOptions = {
  /** What to do with a tool whose name exists on this server. */
  sameTool: 'replace' | 'keep'
}

/** Creates all agents of a file with everything that belongs to them, or nothing. */
export async function importAgents(
  imports: readonly AgentImport[],
  { sameTool }: ImportAgentsOptions,
  context: ServiceContext,
): Promise<AgentId[]> {
  await requireRoomFor(imports, context)
  const agents: NewAgent[] = []
  for (const imported of imports) agents.push(await toNewAgent(imported, { sameTool }, context))
  await context.deps.store.agents.createAll(agents)
  return agents.map(({ agent }) => agent.id)
}

async function toNewAgent(
  imported: AgentImport,
  options: ImportAgentsOptions,
  context: ServiceContext,
): Promise<NewAgent> {
  const { clock, randomness } = context.deps
  const now = clock.now()
  const name = cleanText(imported.name).trim()
  if (name === '') throw new Problem('invalid', 'An agent needs a name.')
  const fallback = requireFallback(imported.fallback, context)
  refuseRepeatedTargets({ model: imported.model, fallback })
  const newTools = await toolsToStore(imported.sources, options, context)
  const blocks = requireUniqueLabels(imported.blocks.map((block) => importedBlock(block, context)))
  const found = new Set((await findToolsByName(imported.tools, context)).map((tool) => tool.name))
  const fromFile = new Set(newTools.map((tool) => tool.name))
  const isAvailable = (tool: string) => found.has(tool) || fromFile.has(tool)
  const missingTools = imported.tools.filter((tool) => !isAvailable(tool))
  const id = `agent-${randomness.uuid()}` as const
  const withoutSecrets: Agent = {
    id,
    organizationId: context.organizationId,
    name,
    system: cleanText(imported.system),
    model: imported.model,
    fallback,
    tools: [...new Set(imported.tools.filter(isAvailable))],
    settings: {
      ...imported.settings,
      ...defined({ missingTools: missingTools.length > 0 ? missingTools : undefined }),
    },
    createdAt: now,
    updatedAt: now,
  }
  const agent = withSecrets(withoutSecrets, sealSecrets(id, imported.secrets, context))
  const messages = imported.messages.map(
    ({ body, createdAt }): NewMessage => ({
      id: `message-${randomness.uuid()}`,
      runId: NO_RUN,
      body,
      createdAt: createdAt ?? now,
    }),
  )
  const newPassages = imported.passages.map(
    ({ text, tags, createdAt }): Passage => ({
      id: `passage-${randomness.uuid()}`,
      organizationId: context.organizationId,
      agentId: agent.id,
      text: cleanText(text),
      tags,
      createdAt: createdAt ?? now,
    }),
  )
  const conversationId = `conv-${randomness.uuid()}` as const
  const prompt = compilePrompt({
    agent,
    blocks,
    conversation: { id: conversationId, isDefault: true, nextPosition: messages.length },
    passageCount: newPassages.length,
    passageTags: [...new Set(newPassages.flatMap(({ tags }) => tags))],
    at: now,
  })
  const memory = { newBlocks: blocks, blockIds: blocks.map(({ id }) => id), tags: imported.tags, newPassages }
  const contents = { ...memory, newTools, messages, contextStart: imported.contextStart, prompt }
  return { agent, conversationId, contents }
}

/** With its limit as it is, also where the value is longer: the retired server did not enforce limits. */
function importedBlock(block: NewBlock, context: ServiceContext): Block {
  const { limit = DEFAULT_BLOCK_LIMIT, ...rest } = block
  return { ...toBlock({ ...rest, limit: Math.max(limit, block.value.length) }, context), limit }
}

async function toolsToStore(
  sources: readonly NewTool[],
  { sameTool }: ImportAgentsOptions,
  context: ServiceContext,
): Promise<StoredTool[]> {
  const tools = sources.map((source) => toStoredTool(source, context))
  const existing = await findToolsByName(
    tools.map(({ name }) => name),
    context,
  )
  const byName = new Map(existing.map((tool) => [tool.name, tool]))
  const stored = tools.flatMap((tool) => {
    const known = byName.get(tool.name)
    if (!known) return [tool]
    // A file cannot replace built-in tools or tools of MCP servers, and cannot lift an approval.
    if (known.toolType !== 'custom' || known.mcp || sameTool === 'keep') return []
    return [{ ...tool, needsApproval: tool.needsApproval || known.needsApproval }]
  })
  const changed = stored.find(({ name, sourceCode }) => byName.get(name)?.sourceCode !== sourceCode)
  if (changed) requireToolsRight(`importing the source of the tool ${changed.name}`, context)
  return stored
}
