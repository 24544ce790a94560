import type { NumberedChunk } from '../../core/chunk.ts'
import { defined } from '../../core/defined.ts'
import type { LoggedEvent } from '../../core/event.ts'
import type { RunId } from '../../core/id.ts'
import type { Run, StopReason } from '../../core/run.ts'
import { usageOfRun } from '../../core/usage.ts'
import { type ItemChange, newOutputView, type OutputItem, type OutputOptions } from './output-items.ts'
import { seconds } from './response-object.ts'
import type { WireChatChunk, WireChatCompletion } from './wire/chat.ts'

const completionIdOf = (runId: RunId): string => `chatcmpl-${runId.slice('run-'.length)}`

type Completed = { run: Run; output: OutputItem[]; events: readonly LoggedEvent[]; model: string }

/** The answer to a request that waited. */
export function chatCompletion({ run, output, events, model }: Completed): WireChatCompletion {
  const texts = output.flatMap((item) => (item.type === 'message' ? [item.content[0]?.text ?? ''] : []))
  const reasoning = output.flatMap((item) => (item.type === 'reasoning' ? [item.content[0]?.text ?? ''] : []))
  const calls = output.flatMap((item) =>
    item.type === 'function_call'
      ? [{ id: item.call_id, type: 'function' as const, function: { name: item.name, arguments: item.arguments } }]
      : [],
  )
  const asksTools = isAsking(output) && calls.length > 0
  return {
    id: completionIdOf(run.id),
    object: 'chat.completion',
    created: seconds(run.createdAt),
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: texts.length > 0 ? texts.join(SEPARATOR) : null,
          refusal: null,
          ...defined({
            reasoning_content: reasoning.length > 0 ? reasoning.join(SEPARATOR) : undefined,
            tool_calls: asksTools ? calls : undefined,
          }),
        },
        logprobs: null,
        finish_reason: finishReason(run.stopReason, asksTools),
      },
    ],
    usage: chatUsage(events),
    holdfast: {
      run_id: run.id,
      conversation_id: run.conversationId,
      tool_calls: output.filter((item) => item.type === 'mcp_call'),
      approvals: output.filter((item) => item.type === 'mcp_approval_request'),
    },
  }
}

/** Whether the run stopped for the caller's tools: calls that were answered in the run are no longer asked for. */
const isAsking = (output: OutputItem[]): boolean => output.some(({ type }) => type === 'function_call')

/** Between the texts of two steps. */
const SEPARATOR = '\n\n'

export function finishReason(
  stopReason: StopReason | undefined,
  asksTools: boolean,
): 'stop' | 'length' | 'tool_calls' | 'content_filter' {
  if (stopReason === 'requires_approval' && asksTools) return 'tool_calls'
  return stopReason === 'max_tokens_exceeded' || stopReason === 'max_steps' ? 'length' : 'stop'
}

function chatUsage(events: readonly LoggedEvent[]) {
  const { promptTokens, completionTokens, cachedTokens, reasoningTokens } = usageOfRun(events)
  return usageOf({
    promptTokens,
    completionTokens,
    cachedTokens: cachedTokens ?? 0,
    reasoningTokens: reasoningTokens ?? 0,
  })
}

type Counted = { promptTokens: number; completionTokens: number; cachedTokens: number; reasoningTokens: number }

const usageOf = ({ promptTokens, completionTokens, cachedTokens, reasoningTokens }: Counted) => ({
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  total_tokens: promptTokens + completionTokens,
  prompt_tokens_details: { cached_tokens: cachedTokens },
  completion_tokens_details: { reasoning_tokens: reasoningTokens },
})

type ChunkOptions = { run: Run; model: string; output: OutputOptions; includeUsage: boolean }

type Delta = WireChatChunk['choices'][number]['delta']

/** Tells a run as the chunks of a chat completion. */
export function newChatView({ run, model, output, includeUsage }: ChunkOptions) {
  const view = newOutputView(output)
  /** The position of each call among the calls of the caller's tools, by item. */
  const callIndexes = new Map<string, number>()
  let hasText = false
  let stopReason: StopReason | undefined
  let usage: ReturnType<typeof usageOf> | undefined
  let error: { message: string; type: string } | undefined

  const chunk = (delta: Delta, more: Partial<WireChatChunk> = {}, finish: Finish = null): WireChatChunk => ({
    id: completionIdOf(run.id),
    object: 'chat.completion.chunk',
    created: seconds(run.createdAt),
    model,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...defined({ usage: includeUsage ? null : undefined }),
    ...more,
  })

  function toChunks(change: ItemChange): WireChatChunk[] {
    const { type, item } = change
    switch (type) {
      case 'added': {
        if (item.type === 'function_call') {
          const index = callIndexes.size
          callIndexes.set(item.id, index)
          const { call_id: id, name } = item
          return [chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] })]
        }
        const isNext = item.type === 'message' && hasText
        return isNext ? [chunk({ content: SEPARATOR })] : []
      }
      case 'text':
        hasText = true
        return [chunk({ content: change.delta })]
      case 'reasoning':
        return [chunk({ reasoning_content: change.delta })]
      case 'arguments': {
        const index = callIndexes.get(item.id)
        return index === undefined ? [] : [chunk({ tool_calls: [{ index, function: { arguments: change.delta } }] })]
      }
      case 'done':
        // A tool of the agent ran: clients that know the field show it.
        if (item.type === 'mcp_call' || item.type === 'mcp_approval_request') return [chunk({}, { holdfast: { item } })]
        return []
    }
  }

  return {
    begin: (): WireChatChunk[] => [
      chunk({ role: 'assistant', content: '' }, { holdfast: { run_id: run.id, conversation_id: run.conversationId } }),
    ],
    take({ chunk: taken }: NumberedChunk): WireChatChunk[] {
      if (taken.message_type === 'stop_reason') stopReason = taken.stop_reason
      if (taken.message_type === 'error_message') error = { message: taken.message, type: taken.error_type }
      if (taken.message_type === 'usage_statistics')
        usage = usageOf({
          promptTokens: taken.prompt_tokens,
          completionTokens: taken.completion_tokens,
          cachedTokens: taken.cached_input_tokens ?? 0,
          reasoningTokens: taken.reasoning_tokens ?? 0,
        })
      return view.take(taken).flatMap(toChunks)
    },
    end(): (WireChatChunk | { error: unknown })[] {
      // A truncated answer is not an error: the finish reason says that it is incomplete.
      if (error && stopReason !== 'max_tokens_exceeded')
        return [{ error: { message: error.message, type: 'server_error', param: null, code: error.type } }]
      const asked = isAsking(view.items())
      return [
        chunk({}, {}, finishReason(stopReason, asked)),
        ...(includeUsage ? [chunk({}, { choices: [], usage: usage ?? usageOf(NOTHING) })] : []),
      ]
    },
  }
}

const NOTHING: Counted = { promptTokens: 0, completionTokens: 0, cachedTokens: 0, reasoningTokens: 0 }

type Finish = WireChatChunk['choices'][number]['finish_reason']
