import type { Agent } from './agent.ts'
import type { Block } from './block.ts'
import type { ConversationId, MessageId } from './id.ts'

export type PromptMaterials = {
  agent: Pick<Agent, 'id' | 'system' | 'model' | 'settings'>
  conversation: { id: ConversationId; isDefault: boolean; nextPosition: number; listStart?: number }
  /** In the order they were attached. */
  blocks: readonly Block[]
  passageCount: number
  passageTags: readonly string[]
  at: number
}

/** Marks where memory goes in an agent's instructions; without it memory is added at the end. */
const MEMORY_PLACEHOLDER = '{CORE_MEMORY}'

/** Agents of these types have no memory blocks in their prompt. */
const WITHOUT_BLOCKS = new Set(['react_agent', 'workflow_agent'])
/** Agent types whose Anthropic models see numbered lines: they edit memory better that way. */
const NUMBERED = new Set(['letta_v1_agent', 'memgpt_v2_agent', 'sleeptime_agent'])

/**
 * The system prompt of a conversation. It is compiled once and stored, so that it stays identical to the byte while
 * memory changes and the provider's prompt cache stays valid.
 */
export function compilePrompt(materials: PromptMaterials): string {
  const { agent, blocks } = materials
  if (hasPlainPrompt(materials)) return agent.system
  const isWithout = WITHOUT_BLOCKS.has(agent.settings?.agentType ?? '')
  const sections = isWithout || blocks.length === 0 ? [] : [blocksSection(materials)]
  const memory = [...sections, metadataSection(materials)].join('\n\n')
  return agent.system.includes(MEMORY_PLACEHOLDER)
    ? agent.system.split(MEMORY_PLACEHOLDER).join(memory)
    : `${agent.system}\n\n${memory}`
}

/** An agent without blocks and agent type has its instructions alone as prompt. */
export const hasPlainPrompt = ({ agent, blocks }: Pick<PromptMaterials, 'agent' | 'blocks'>): boolean =>
  blocks.length === 0 && agent.settings?.agentType === undefined

/** The system message is not stored as a row; its id follows from its conversation. */
export const systemMessageId = (conversationId: ConversationId): MessageId =>
  `message-${conversationId.slice('conv-'.length)}`

function blocksSection({ agent, blocks }: PromptMaterials): string {
  const isNumbered = agent.model.startsWith('anthropic/') && NUMBERED.has(agent.settings?.agentType ?? '')
  const each = blocks.map((block) => blockSection(block, isNumbered))
  return `<memory_blocks>\nThe following memory blocks are in view:\n\n${each.join('\n\n')}\n\n</memory_blocks>`
}

const WARNING = `<warning>
Line numbers are shown only to help you edit. They are not part of the value: never write them in a call.
</warning>`

function blockSection({ label, description, value, limit, readOnly }: Block, isNumbered: boolean): string {
  const tag = label.replaceAll(/[^\p{L}\p{N}_./-]/gu, '_')
  const lines = isNumbered
    ? value
        .split('\n')
        .map((line, index) => `${index + 1}→ ${line}`)
        .join('\n')
    : value
  return [
    `<${tag}>`,
    `<description>\n${description ?? ''}\n</description>`,
    '<metadata>',
    ...(readOnly ? ['- read_only=true'] : []),
    `- chars_current=${value.length}`,
    `- chars_limit=${limit}`,
    '</metadata>',
    ...(isNumbered ? [WARNING] : []),
    `<value>\n${lines}\n</value>`,
    `</${tag}>`,
  ].join('\n')
}

/** The local time with its zone; the zone was checked when it was set. */
function dateIn(timezone: string | undefined, at: number): string {
  if (timezone === undefined || timezone === 'UTC') return new Date(at).toISOString()
  const local = new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short', timeStyle: 'medium' })
  return `${local.format(at)} (${timezone})`
}

function metadataSection({ agent, conversation, passageCount, passageTags, at }: PromptMaterials): string {
  return [
    '<memory_metadata>',
    `- AGENT_ID: ${agent.id}`,
    `- CONVERSATION_ID: ${conversation.isDefault ? 'default' : conversation.id}`,
    `- System prompt last recompiled: ${dateIn(agent.settings?.timezone, at)}`,
    `- ${conversation.nextPosition - (conversation.listStart ?? 0)} previous messages between you and the user are stored in recall memory (use tools to access them)`,
    ...(passageCount > 0
      ? [`- ${passageCount} total memories you created are stored in archival memory (use tools to access them)`]
      : []),
    ...(passageTags.length > 0 ? [`- Available archival memory tags: ${passageTags.join(', ')}`] : []),
    '</memory_metadata>',
  ].join('\n')
}
