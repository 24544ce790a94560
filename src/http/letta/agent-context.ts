import type { Agent } from '../../core/agent.ts'
import { estimateTokens } from '../../core/compaction.ts'
import { toModelHistory } from '../../core/history.ts'
import type { MessageBody } from '../../core/message.ts'
import { toolsOf } from '../../service/agents/agent-tools.ts'
import { requireConversation } from '../../service/conversations/conversations.ts'
import { promptOf } from '../../service/conversations/prompt.ts'
import type { Desk } from '../../service/desk.ts'
import { windowOf } from './model-handle.ts'
import { wireMessages } from './wire/message.ts'

/** What stands in the model's view of the default conversation, and about how much room each part takes. */
export async function contextOverview(agent: Agent, desk: Desk) {
  const { store } = desk.world
  const conversation = await requireConversation(agent, undefined, desk)
  const [prompt, view, tools, materials] = await Promise.all([
    promptOf(conversation.id, desk),
    store.messages.context(conversation.id),
    toolsOf(agent, desk),
    store.prompts.materials(desk.organizationId, conversation.id),
  ])
  const memory = /<memory_blocks>[\s\S]*<\/memory_blocks>/.exec(prompt)?.[0] ?? ''
  const summary = view.findLast(({ body }) => body.role === 'summary')?.body
  const shown = toModelHistory(view.map(({ body }) => body))
  const functions = tools.map(({ jsonSchema }) => ({ type: 'function', function: jsonSchema }))
  const counts = {
    num_tokens_system: tokensOf(prompt.replace(memory, '')),
    num_tokens_core_memory: tokensOf(memory),
    num_tokens_summary_memory: summary ? estimateTokens(summary) : 0,
    num_tokens_functions_definitions: tokensOf(JSON.stringify(functions)),
    num_tokens_messages: sizeOf(shown.filter(({ role }) => role !== 'summary')),
    num_tokens_external_memory_summary: 0,
  }
  return {
    context_window_size_max: windowOf(agent.model, desk),
    context_window_size_current: Object.values(counts).reduce((sum, count) => sum + count, 0),
    ...{ num_messages: view.length + 1, num_archival_memory: materials?.passageCount ?? 0 },
    ...{ num_recall_memory: conversation.nextPosition, ...counts, external_memory_summary: '' },
    ...{
      system_prompt: prompt,
      core_memory: memory,
      summary_memory: summary?.role === 'summary' ? summary.text : null,
    },
    ...{ functions_definitions: functions, messages: wireMessages(view) },
  }
}

const sizeOf = (bodies: readonly MessageBody[]): number => bodies.reduce((sum, body) => sum + estimateTokens(body), 0)

const tokensOf = (text: string): number => Math.ceil(text.length / 4)
