import type { Agent, AgentSettings, Conversation } from '../../core/agent.ts'
import { type Block, cleanText } from '../../core/block.ts'
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
import type { ServiceContext } from '../service-context.ts'
import { findToolsByName, type NewTool, toStoredTool } from '../tools/tools.ts'
import { blocksOf } from './agent-blocks.ts'
import { type Secrets, sealSecrets, withSecrets } from './agent-secrets.ts'
import { toolsOf } from './agent-tools.ts'
import { requireUniqueLabels } from './create-agent.ts'

export type ExportedAgent = {
  agent: Agent
  blocks: Block[]
  tools: StoredTool[]
  tags: string[]
  prompt: string
  /** The whole history of one conversation, up to where no call waits for its results. */
  messages: Message[]
  contextStart: number
  passages: Passage[]
}

const PAGE = 1_000

/** Everything another server needs to make the same agent. */
export async function exportAgent(
  agent: Agent,
  conversation: Conversation,
  serviceContext: ServiceContext,
): Promise<ExportedAgent> {
  const { store } = serviceContext.deps
  const [blocks, tools, tags, prompt, view] = await Promise.all([
    blocksOf(agent, serviceContext),
    toolsOf(agent, serviceContext),
    store.tags.ofAgents(serviceContext.organizationId, [agent.id]),
    promptOf(conversation.id, serviceContext),
    store.messages.context(conversation.id),
  ])
  const { end, contextStart } = forkPoint(view, conversation.contextStart)
  const messages = await allMessages(conversation, end, serviceContext)
  const passages = await allPassages(agent, serviceContext)
  return { agent, blocks, tools, tags: tags.get(agent.id) ?? [], prompt, messages, contextStart, passages }
}

async function allMessages({ id }: Conversation, end: number, serviceContext: ServiceContext): Promise<Message[]> {
  const messages: Message[] = []
  for (;;) {
    const after = messages.at(-1)?.position ?? -1
    const page = await listMessages(id, { limit: PAGE, take: 'oldest', after, before: end }, serviceContext)
    messages.push(...page)
    if (page.length < PAGE) return messages
  }
}

async function allPassages(agent: Agent, serviceContext: ServiceContext): Promise<Passage[]> {
  const passages: Passage[] = []
  for (;;) {
    const last = passages.at(-1)?.id
    const page = await listPassages(
      agent,
      { limit: PAGE, order: 'asc', ...defined({ after: last || undefined }) },
      serviceContext,
    )
    passages.push(...page)
    if (page.length < PAGE) return passages
  }
}

/** An agent as a file tells it, in our own words. */
export type AgentImport = {
  name: string
  system: string
  model: TargetHandle
  settings: AgentSettings
  blocks: NewBlock[]
  tags: string[]
  /** By name, in order. */
  tools: string[]
  /** Those of them that the file brings along as source. */
  sources: NewTool[]
  messages: { body: MessageBody; createdAt?: number }[]
  /** The first of the messages that the model is shown. */
  contextStart: number
  passages: { text: string; tags: string[]; createdAt?: number }[]
  secrets: Secrets
}

type ImportAgentsOptions = {
  /** What becomes of a tool that is here already under its name. */
  sameTool: 'replace' | 'keep'
}

/** Makes all agents of a file with everything that belongs to them, or nothing at all. */
export async function importAgents(
  wishes: readonly AgentImport[],
  { sameTool }: ImportAgentsOptions,
  serviceContext: ServiceContext,
): Promise<AgentId[]> {
  const made: NewAgent[] = []
  for (const wish of wishes) made.push(await toNewAgent(wish, { sameTool }, serviceContext))
  await serviceContext.deps.store.agents.createAll(made)
  return made.map(({ agent }) => agent.id)
}

async function toNewAgent(
  wish: AgentImport,
  options: ImportAgentsOptions,
  serviceContext: ServiceContext,
): Promise<NewAgent> {
  const { clock, randomness } = serviceContext.deps
  const now = clock.now()
  const name = cleanText(wish.name).trim()
  if (name === '') throw new Problem('invalid', 'An agent needs a name.')
  const newTools = await toolsToStore(wish.sources, options, serviceContext)
  const blocks = requireUniqueLabels(wish.blocks.map((block) => importedBlock(block, serviceContext)))
  const found = new Set((await findToolsByName(wish.tools, serviceContext)).map((tool) => tool.name))
  const brought = new Set(newTools.map((tool) => tool.name))
  const isHere = (tool: string) => found.has(tool) || brought.has(tool)
  const missingTools = wish.tools.filter((tool) => !isHere(tool))
  const id = `agent-${randomness.uuid()}` as const
  const bare: Agent = {
    id,
    organizationId: serviceContext.organizationId,
    name,
    system: cleanText(wish.system),
    model: wish.model,
    fallback: [],
    tools: [...new Set(wish.tools.filter(isHere))],
    settings: { ...wish.settings, ...defined({ missingTools: missingTools.length > 0 ? missingTools : undefined }) },
    createdAt: now,
    updatedAt: now,
  }
  const agent = withSecrets(bare, sealSecrets(id, wish.secrets, serviceContext))
  const messages = wish.messages.map(
    ({ body, createdAt }): NewMessage => ({
      id: `message-${randomness.uuid()}`,
      runId: NO_RUN,
      body,
      createdAt: createdAt ?? now,
    }),
  )
  const newPassages = wish.passages.map(
    ({ text, tags, createdAt }): Passage => ({
      id: `passage-${randomness.uuid()}`,
      organizationId: serviceContext.organizationId,
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
  const memory = { newBlocks: blocks, blockIds: blocks.map(({ id }) => id), tags: wish.tags, newPassages }
  const parts = { ...memory, newTools, messages, contextStart: wish.contextStart, prompt }
  return { agent, conversationId, contents: parts }
}

/** A value that is longer than its block allowed is kept, and the block allows it from now on. */
function importedBlock(wish: NewBlock, serviceContext: ServiceContext): Block {
  const limit = wish.limit === undefined ? undefined : Math.max(wish.limit, wish.value.length)
  return toBlock({ ...wish, ...defined({ limit }) }, serviceContext)
}

async function toolsToStore(
  wishes: readonly NewTool[],
  { sameTool }: ImportAgentsOptions,
  serviceContext: ServiceContext,
): Promise<StoredTool[]> {
  const tools = wishes.map((wish) => toStoredTool(wish, serviceContext))
  const here = await findToolsByName(
    tools.map(({ name }) => name),
    serviceContext,
  )
  return tools.filter(({ name }) => {
    const known = here.find((tool) => tool.name === name)
    // Ours and those of MCP servers are what they are.
    return !known || (known.toolType === 'custom' && !known.mcp && sameTool === 'replace')
  })
}
