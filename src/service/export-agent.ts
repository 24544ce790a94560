import type { Agent, Conversation } from '../core/agent.ts'
import type { Block } from '../core/block.ts'
import { forkPoint } from '../core/fork.ts'
import type { Message } from '../core/message.ts'
import type { Passage } from '../core/passage.ts'
import type { StoredTool } from '../core/stored-tool.ts'
import { blocksOf } from './agent-blocks.ts'
import { toolsOf } from './agent-tools.ts'
import { promptOf } from './compile-prompt.ts'
import type { Desk } from './desk.ts'
import { listMessages } from './list-messages.ts'
import { listPassages } from './passages.ts'

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
