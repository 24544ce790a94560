import { z } from 'zod'
import type { Agent } from '../../../core/agent.ts'
import { toModelHistory } from '../../../core/history.ts'
import { estimateAll, estimateTokens, textTokens } from '../../../core/token-estimate.ts'
import { toolsOf } from '../../../service/agents/agent-tools.ts'
import { requireConversation } from '../../../service/conversations/conversations.ts'
import { promptOf, readModelContext } from '../../../service/conversations/prompt.ts'
import type { ServiceContext } from '../../../service/service-context.ts'
import { windowOf } from '../window-limit.ts'
import { always } from './constant-field.ts'
import { wireMessages } from './message.ts'
import { messageSchema } from './message-schema.ts'
import { storedObject } from './stored-json.ts'

const countsSchema = z.object({
  num_tokens_system: z.int().describe('Estimated tokens of the system prompt without memory.'),
  num_tokens_core_memory: z.int().describe('Estimated tokens of the memory blocks.'),
  num_tokens_summary_memory: z.int().describe('Estimated tokens of the summary of earlier messages.'),
  num_tokens_functions_definitions: z.int().describe('Estimated tokens of the tool definitions.'),
  num_tokens_messages: z.int().describe('Estimated tokens of the messages, without the summary.'),
  num_tokens_external_memory_summary: always(0),
})

export const contextSchema = z.lazy(() =>
  z
    .object({
      context_window_size_max: z
        .int()
        .describe('Context window in tokens: that of the model, or the limit that was set.'),
      context_window_size_current: z.int().describe('Estimated tokens in use: the sum of all `num_tokens` fields.'),
      num_messages: z.int().describe('Messages in the context, the system prompt included.'),
      num_archival_memory: z.int().describe('Passages in the archival memory of the agent.'),
      num_recall_memory: z.int().describe('Messages that the conversation has stored in total.'),
      ...countsSchema.shape,
      external_memory_summary: always(''),
      system_prompt: z.string().describe('The system prompt, memory included.'),
      core_memory: z.string().describe('The part of the system prompt that holds the memory blocks.'),
      summary_memory: z.string().nullable().describe('The summary of earlier messages; null without one.'),
      functions_definitions: z
        .array(z.object({ type: z.literal('function'), function: storedObject }))
        .describe('Tool definitions as the model reads them.'),
      messages: z.array(messageSchema).describe('Messages in the context, in order, without the system prompt.'),
    })
    .meta({ id: 'Context', description: 'What is in the context of the default conversation, and how large it is.' }),
)

type WireContext = z.output<typeof contextSchema>

/** The context of the default conversation, and about how many tokens each part takes. */
export async function contextOverview(agent: Agent, context: ServiceContext): Promise<WireContext> {
  const conversation = await requireConversation(agent, undefined, context)
  const [prompt, { messages: view, passageCount }, tools] = await Promise.all([
    promptOf(conversation.id, context),
    readModelContext(conversation.id, context),
    toolsOf(agent, context),
  ])
  const memory = memoryIn(prompt)
  const summary = view.findLast(({ body }) => body.role === 'summary')?.body
  const shown = toModelHistory(view.map(({ body }) => body))
  const functions = tools.map(({ jsonSchema }) => ({ type: 'function' as const, function: jsonSchema }))
  const counts: z.output<typeof countsSchema> = {
    num_tokens_system: textTokens(prompt.replace(memory, '')),
    num_tokens_core_memory: textTokens(memory),
    num_tokens_summary_memory: summary ? estimateTokens(summary) : 0,
    num_tokens_functions_definitions: textTokens(JSON.stringify(functions)),
    num_tokens_messages: estimateAll(shown.filter(({ role }) => role !== 'summary')),
    num_tokens_external_memory_summary: 0,
  }
  return {
    context_window_size_max: windowOf(agent, context, conversation),
    context_window_size_current: Object.values(counts).reduce<number>((sum, count) => sum + count, 0),
    num_messages: view.length + 1,
    num_archival_memory: passageCount,
    num_recall_memory: conversation.nextPosition - (conversation.listStart ?? 0),
    ...counts,
    external_memory_summary: '',
    system_prompt: prompt,
    core_memory: memory,
    summary_memory: summary?.role === 'summary' ? summary.text : null,
    functions_definitions: functions,
    messages: wireMessages(view),
  }
}

function memoryIn(prompt: string): string {
  const start = prompt.indexOf('<memory_blocks>')
  const end = prompt.lastIndexOf('</memory_blocks>')
  return start < 0 || end < start ? '' : prompt.slice(start, end + '</memory_blocks>'.length)
}
