import type { ChatCompletionCreateParamsStreaming, ChatCompletionFunctionTool } from 'openai/resources/chat/completions'
import { defined } from '../../core/defined.ts'
import type { Effort } from '../../core/model-settings.ts'
import type { RequestAdjustments } from '../../core/request-adjustments.ts'
import { formatDemand, withDemand } from '../../core/response-format.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { authHeaders } from '../wire/auth-headers.ts'
import type { EmbeddingDialect, EncodeContext, EncodedRequest } from '../wire/dialect.ts'
import { newEncodedTools, notStrict, toolForm } from '../wire/encoded-tools.ts'
import type { Quirks } from '../wire/quirks.ts'
import { newChatDecoder } from './chat-decoder.ts'
import { type ChatForm, chatMessages } from './chat-messages.ts'
import { openaiEmbeddings } from './embeddings.ts'
import { openaiModels } from './model-listing.ts'
import { markedHistory, markedPrompt, usesCacheMarks } from './prompt-cache.ts'
import { encodeTail } from './request-tail.ts'
import {
  asksForJson,
  effortOf,
  hasFixedSampling,
  samplingOf,
  schemaFormat,
  type UnifiedReasoning,
  unifiedReasoningOf,
  verbosityOf,
} from './sampling.ts'
import { strictSchema } from './strict-schema.ts'

/** OpenAI Chat Completions, the API that most servers speak. */
export const openaiChat: EmbeddingDialect = {
  name: 'openai-chat',
  encode,
  newDecoder: newChatDecoder,
  models: openaiModels,
  embeddings: openaiEmbeddings,
}

/** The same history gives the same leading bytes, so that the vendor's prompt cache hits. */
function encode(request: ModelRequest, { grant, quirks }: EncodeContext): EncodedRequest {
  const { model, messages, tools, adjustments = {} } = request
  const system = promptOf(request)
  const form = formOf(adjustments, quirks)
  const isMarked = usesCacheMarks(model, quirks)
  const plainPrompt = system === '' ? '' : JSON.stringify({ role: 'system', content: system })
  const prompt = isMarked && system !== '' ? markedPrompt(system) : plainPrompt
  const history = isMarked
    ? markedHistory(messages, { ...form, caching: 'unmarked' })
    : chatMessages.joined(messages, form)
  const toolTexts = toolsText(tools, toolForm(request))
  const { sampling, leftOut } = samplingOf(request)
  const penalty = penaltyOf(request)
  return {
    path: quirks.path ?? '/chat/completions',
    headers: { ...authHeaders(grant, quirks.auth ?? 'bearer'), ...imageHeader(history, quirks) },
    body:
      `{"model":${JSON.stringify(model)},"messages":[${prompt}${prompt && history ? ',' : ''}${history}]` +
      `${toolTexts && `,"tools":[${toolTexts}]`}${encodeTail({ ...settingsOf(request, quirks), ...sampling })}`,
    leftOut: [
      ...leftOut,
      ...penalty.leftOut,
      ...reasoningOf(request, quirks).leftOut,
      ...verbosityOf(request).leftOut,
      ...notStrict(request, ({ inputSchema }) => strictSchema(inputSchema) !== undefined),
    ],
  }
}

function formOf(adjustments: RequestAdjustments, quirks: Quirks): ChatForm {
  const isTextOnly = adjustments.textOnlyResults || quirks.textOnlyResults
  return {
    images: adjustments.stripImages ? 'none' : isTextOnly ? 'not-in-results' : 'all',
    signatures: adjustments.stripSignatures ? 'left-out' : 'kept',
    caching: 'automatic',
    quirks,
  }
}

/** In an encoded history only a real image has these bytes: quotes in a text are escaped. */
const imageHeader = (history: string, quirks: Quirks): Quirks['imageHeader'] =>
  quirks.imageHeader && history.includes('"type":"image_url"') ? quirks.imageHeader : {}

/** JSON mode needs a message that asks for JSON. */
function promptOf({ system, settings }: ModelRequest): string {
  const format = settings?.responseFormat
  return format?.type === 'json' && !asksForJson(system) ? withDemand(system, formatDemand(format)) : system
}

function penaltyOf({ model, settings }: ModelRequest): { frequencyPenalty?: number; leftOut: string[] } {
  const asked = settings?.frequencyPenalty
  if (!asked || !hasFixedSampling(model)) return { ...defined({ frequencyPenalty: asked }), leftOut: [] }
  return { leftOut: [`frequency_penalty: ${model} takes only 0`] }
}

type Reasoning = { reasoning_effort?: Effort; reasoning?: UnifiedReasoning; leftOut: string[] }

function reasoningOf(request: ModelRequest, quirks: Quirks): Reasoning {
  if (quirks.reasoningParameter === 'unified') return unifiedReasoningOf(request)
  const { effort, leftOut } = effortOf(request)
  return { ...defined({ reasoning_effort: effort }), leftOut }
}

type Settings = Omit<ChatCompletionCreateParamsStreaming, 'model' | 'messages' | 'tools'> & Omit<Reasoning, 'leftOut'>

function settingsOf(request: ModelRequest, quirks: Quirks): Settings {
  const { outputCap, mustCall, settings: asked } = request
  const { leftOut: _, ...reasoning } = reasoningOf(request, quirks)
  const { verbosity } = verbosityOf(request)
  const { frequencyPenalty } = penaltyOf(request)
  const settings: Settings = { stream: true, ...defined({ verbosity, frequency_penalty: frequencyPenalty }) }
  if (quirks.streamUsage !== 'never-ask') settings.stream_options = { include_usage: true }
  if (outputCap !== undefined) settings[quirks.outputCapField ?? 'max_completion_tokens'] = outputCap
  Object.assign(settings, reasoning)
  if (mustCall) settings.tool_choice = 'required'
  const format = asked?.responseFormat
  if (format?.type === 'json') settings.response_format = { type: 'json_object' }
  if (format?.type === 'json-schema')
    settings.response_format = { type: 'json_schema', json_schema: schemaFormat(format) }
  return settings
}

const toolsText = newEncodedTools(({ name, description, inputSchema }, form): ChatCompletionFunctionTool => {
  const strict = form === 'strict' ? strictSchema(inputSchema) : undefined
  const parameters = (strict ?? inputSchema) as Record<string, unknown>
  return {
    type: 'function',
    function: { name, description, parameters, ...defined({ strict: strict ? (true as const) : undefined }) },
  }
})
