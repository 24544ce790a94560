import type { ChatCompletionCreateParamsStreaming, ChatCompletionFunctionTool } from 'openai/resources/chat/completions'
import type { RequestAdjustments } from '../../core/request-adjustments.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { authHeaders } from '../wire/auth-headers.ts'
import type { EmbeddingDialect, EncodeContext, EncodedRequest } from '../wire/dialect.ts'
import { newEncodedTools } from '../wire/encoded-tools.ts'
import type { Quirks } from '../wire/quirks.ts'
import { newChatDecoder } from './chat-decoder.ts'
import { type ChatForm, chatMessages } from './chat-messages.ts'
import { openaiEmbeddings } from './embeddings.ts'
import { openaiModels } from './model-listing.ts'
import { encodeTail } from './request-tail.ts'
import { effortOf, samplingOf } from './sampling.ts'

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
  const { model, system, messages, tools, adjustments = {} } = request
  const prompt = system === '' ? '' : JSON.stringify({ role: 'system', content: system })
  const history = chatMessages.joined(messages, formOf(adjustments, quirks))
  const toolTexts = toolsText(tools, adjustments.relaxSchemas ? 'relaxed' : 'as-given')
  const { sampling, leftOut } = samplingOf(request)
  const reasoning = effortOf(request)
  return {
    path: quirks.path ?? '/chat/completions',
    headers: authHeaders(grant, quirks.auth ?? 'bearer'),
    body:
      `{"model":${JSON.stringify(model)},"messages":[${prompt}${prompt && history ? ',' : ''}${history}]` +
      `${toolTexts && `,"tools":[${toolTexts}]`}${encodeTail({ ...settingsOf(request, quirks), ...sampling })}`,
    leftOut: [...leftOut, ...reasoning.leftOut],
  }
}

function formOf(adjustments: RequestAdjustments, quirks: Quirks): ChatForm {
  const isTextOnly = adjustments.textOnlyResults || quirks.textOnlyResults
  return {
    images: adjustments.stripImages ? 'none' : isTextOnly ? 'not-in-results' : 'all',
    signatures: adjustments.stripSignatures ? 'left-out' : 'kept',
    quirks,
  }
}

type Settings = Omit<ChatCompletionCreateParamsStreaming, 'model' | 'messages' | 'tools'>

function settingsOf(request: ModelRequest, quirks: Quirks): Settings {
  const { outputCap, outputSchema, mustCall } = request
  const { effort } = effortOf(request)
  const settings: Settings = { stream: true }
  if (quirks.streamUsage !== 'never-ask') settings.stream_options = { include_usage: true }
  if (outputCap !== undefined) settings[quirks.outputCapField ?? 'max_completion_tokens'] = outputCap
  if (effort) settings.reasoning_effort = effort
  if (mustCall) settings.tool_choice = 'required'
  if (outputSchema) {
    const { name, schema } = outputSchema
    const json_schema = { name, schema: schema as Record<string, unknown>, strict: true }
    settings.response_format = { type: 'json_schema', json_schema }
  }
  return settings
}

const toolsText = newEncodedTools(
  ({ name, description, inputSchema }): ChatCompletionFunctionTool => ({
    type: 'function',
    function: { name, description, parameters: inputSchema as Record<string, unknown> },
  }),
)
