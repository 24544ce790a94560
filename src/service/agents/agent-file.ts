import type { Agent, AgentSettings, Conversation } from '../../core/agent.ts'
import { type Block, cleanText } from '../../core/block.ts'
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
import type { Desk } from '../desk.ts'
import { blockFrom, type NewBlock } from '../memory/blocks.ts'
import { listPassages } from '../memory/passages.ts'
import { listMessages } from '../messages/messages.ts'
import { type NewTool, namedTools, toolFrom } from '../tools/tools.ts'
import { blocksOf } from './agent-blocks.ts'
import { type Secrets, sealSecrets, withSecrets } from './agent-secrets.ts'
import { toolsOf } from './agent-tools.ts'
import { withoutTwins } from './create-agent.ts'

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
export async function exportAgent(agent: Agent, conversation: Conversation, desk: Desk): Promise<ExportedAgent> {
  const { store } = desk.world
  const [blocks, tools, tags, prompt, view] = await Promise.all([
    blocksOf(agent, desk),
    toolsOf(agent, desk),
    store.tags.ofAgents(desk.organizationId, [agent.id]),
    promptOf(conversation.id, desk),
    store.messages.context(conversation.id),
  ])
  const { end, contextStart } = forkPoint(view, conversation.contextStart)
  const messages = await allMessages(conversation, end, desk)
  const passages = await allPassages(agent, desk)
  return { agent, blocks, tools, tags: tags.get(agent.id) ?? [], prompt, messages, contextStart, passages }
}

async function allMessages({ id }: Conversation, end: number, desk: Desk): Promise<Message[]> {
  const messages: Message[] = []
  for (;;) {
    const after = messages.at(-1)?.position ?? -1
    const page = await listMessages(id, { limit: PAGE, take: 'oldest', after, before: end }, desk)
    messages.push(...page)
    if (page.length < PAGE) return messages
  }
}

async function allPassages(agent: Agent, desk: Desk): Promise<Passage[]> {
  const passages: Passage[] = []
  for (;;) {
    const last = passages.at(-1)?.id
    const page = await listPassages(agent, { limit: PAGE, order: 'asc', ...(last ? { after: last } : {}) }, desk)
    passages.push(...page)
    if (page.length < PAGE) return passages
  }
}

/** An agent as a file tells it, in our own words. */
export type ImportAgent = {
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

type ImportOptions = {
  /** What becomes of a tool that is here already under its name. */
  sameTool: 'replace' | 'keep'
}

/** Makes all agents of a file with everything that belongs to them, or nothing at all. */
export async function importAgents(
  wishes: readonly ImportAgent[],
  { sameTool }: ImportOptions,
  desk: Desk,
): Promise<AgentId[]> {
  const made: NewAgent[] = []
  for (const wish of wishes) made.push(await newAgent(wish, { sameTool }, desk))
  await desk.world.store.agents.createAll(made)
  return made.map(({ agent }) => agent.id)
}

async function newAgent(wish: ImportAgent, options: ImportOptions, desk: Desk): Promise<NewAgent> {
  const { clock, randomness } = desk.world
  const now = clock.now()
  const name = cleanText(wish.name).trim()
  if (name === '') throw new Problem('invalid', 'An agent needs a name.')
  const newTools = await toolsToPut(wish.sources, options, desk)
  const blocks = withoutTwins(wish.blocks.map((block) => wholeBlock(block, desk)))
  const found = new Set((await namedTools(wish.tools, desk)).map((tool) => tool.name))
  const brought = new Set(newTools.map((tool) => tool.name))
  const isHere = (tool: string) => found.has(tool) || brought.has(tool)
  const missingTools = wish.tools.filter((tool) => !isHere(tool))
  const id = `agent-${randomness.uuid()}` as const
  const bare: Agent = {
    id,
    organizationId: desk.organizationId,
    name,
    system: cleanText(wish.system),
    model: wish.model,
    fallback: [],
    tools: [...new Set(wish.tools.filter(isHere))],
    settings: { ...wish.settings, ...(missingTools.length > 0 ? { missingTools } : {}) },
    createdAt: now,
    updatedAt: now,
  }
  const agent = withSecrets(bare, sealSecrets(id, wish.secrets, desk))
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
      organizationId: desk.organizationId,
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
  return { agent, conversationId, parts }
}

/** A value that is longer than its block allowed is kept, and the block allows it from now on. */
function wholeBlock(wish: NewBlock, desk: Desk): Block {
  const limit = wish.limit === undefined ? undefined : Math.max(wish.limit, wish.value.length)
  return blockFrom({ ...wish, ...(limit === undefined ? {} : { limit }) }, desk)
}

async function toolsToPut(wishes: readonly NewTool[], { sameTool }: ImportOptions, desk: Desk): Promise<StoredTool[]> {
  const tools = wishes.map((wish) => toolFrom(wish, desk))
  const here = await namedTools(
    tools.map(({ name }) => name),
    desk,
  )
  return tools.filter(({ name }) => {
    const known = here.find((tool) => tool.name === name)
    // Ours and those of MCP servers are what they are.
    return !known || (known.toolType === 'custom' && !known.mcp && sameTool === 'replace')
  })
}
