import type { FunctionTool, ResponseCreateParamsStreaming } from 'openai/resources/responses/responses'
import { defined } from '../../core/defined.ts'
import type { RequestAdjustments } from '../../core/request-adjustments.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { authHeaders } from '../wire/auth-headers.ts'
import type { EmbeddingDialect, EncodeContext, EncodedRequest } from '../wire/dialect.ts'
import { newEncodedTools } from '../wire/encoded-tools.ts'
import type { Quirks } from '../wire/quirks.ts'
import { openaiEmbeddings } from './embeddings.ts'
import { openaiModels } from './model-listing.ts'
import { encodeTail } from './request-tail.ts'
import { newResponsesDecoder } from './responses-decoder.ts'
import { type ItemForm, responseItems } from './responses-items.ts'
import { effortOf, hasReasoning, samplingOf } from './sampling.ts'

/** OpenAI Responses. The vendor stores nothing: it returns encrypted reasoning, which later requests send back. */
export const openaiResponses: EmbeddingDialect = {
  name: 'openai-responses',
  encode,
  newDecoder: newResponsesDecoder,
  models: openaiModels,
  embeddings: openaiEmbeddings,
}

function encode(request: ModelRequest, { grant, quirks }: EncodeContext): EncodedRequest {
  const { model, system, messages, tools, adjustments = {} } = request
  const instructions = system === '' ? '' : `"instructions":${JSON.stringify(system)},`
  const toolTexts = toolsText(tools, adjustments.relaxSchemas ? 'relaxed' : 'as-given')
  const { sampling, leftOut } = samplingOf(request)
  const reasoning = effortOf(request)
  return {
    path: quirks.path ?? '/responses',
    headers: authHeaders(grant, quirks.auth ?? 'bearer'),
    body:
      `{"model":${JSON.stringify(model)},${instructions}"input":[${responseItems.joined(messages, formOf(adjustments, quirks))}]` +
      `${toolTexts && `,"tools":[${toolTexts}]`}${encodeTail({ ...settingsOf(request, quirks), ...sampling })}`,
    leftOut: [...leftOut, ...reasoning.leftOut],
  }
}

function formOf(adjustments: RequestAdjustments, quirks: Quirks): ItemForm {
  const isTextOnly = adjustments.textOnlyResults || quirks.textOnlyResults
  return {
    images: adjustments.stripImages ? 'none' : isTextOnly ? 'not-in-results' : 'all',
    reasoning: adjustments.dropEncryptedReasoning ? 'left-out' : 'replayed',
  }
}

type Settings = Omit<ResponseCreateParamsStreaming, 'model' | 'input' | 'instructions' | 'tools'>

function settingsOf(request: ModelRequest, quirks: Quirks): Settings {
  const { model, outputCap, outputSchema, adjustments, mustCall } = request
  const { effort } = effortOf(request)
  const settings: Settings = { stream: true, store: false }
  if (!adjustments?.dropEncryptedReasoning && hasReasoning(model)) settings.include = ['reasoning.encrypted_content']
  if (mustCall) settings.tool_choice = 'required'
  if (outputCap !== undefined) settings.max_output_tokens = outputCap
  const summary = quirks.reasoningSummary
  if (effort || summary) settings.reasoning = defined({ effort, summary })
  if (outputSchema) {
    const { name, schema } = outputSchema
    settings.text = { format: { type: 'json_schema', name, schema: schema as Record<string, unknown>, strict: true } }
  }
  return settings
}

/** Strict mode rejects optional fields; the tools validate their input themselves. */
const toolsText = newEncodedTools(
  ({ name, description, inputSchema }): FunctionTool => ({
    type: 'function',
    name,
    description,
    parameters: inputSchema as Record<string, unknown>,
    strict: false,
  }),
)
