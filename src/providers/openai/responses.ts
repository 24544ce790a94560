import type { FunctionTool, ResponseCreateParamsStreaming } from 'openai/resources/responses/responses'
import { defined } from '../../core/defined.ts'
import type { RequestAdjustments } from '../../core/request-adjustments.ts'
import { formatDemand } from '../../core/response-format.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { authHeaders } from '../wire/auth-headers.ts'
import type { EmbeddingDialect, EncodeContext, EncodedRequest } from '../wire/dialect.ts'
import { newEncodedTools, notStrict, toolForm } from '../wire/encoded-tools.ts'
import type { Quirks } from '../wire/quirks.ts'
import { openaiEmbeddings } from './embeddings.ts'
import { openaiModels } from './model-listing.ts'
import { encodeTail } from './request-tail.ts'
import { newResponsesDecoder } from './responses-decoder.ts'
import { type ItemForm, responseItems } from './responses-items.ts'
import { effortOf, hasReasoning, samplingOf, schemaFormat, verbosityOf } from './sampling.ts'
import { strictSchema } from './strict-schema.ts'

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
  const hasInstructions = system !== '' || quirks.instructions === 'always'
  const instructions = !hasInstructions ? '' : `"instructions":${JSON.stringify(system)},`
  const toolTexts = toolsText(tools, toolForm(request))
  const demand = jsonDemand(request)
  const items = responseItems.joined(messages, formOf(adjustments, quirks))
  const { sampling, leftOut } = samplingOf(request)
  const reasoning = effortOf(request)
  return {
    path: quirks.path ?? '/responses',
    headers: authHeaders(grant, quirks.auth ?? 'bearer'),
    body:
      `{"model":${JSON.stringify(model)},${instructions}"input":[${demand}${demand && items ? ',' : ''}${items}]` +
      `${toolTexts && `,"tools":[${toolTexts}]`}${encodeTail({ ...settingsOf(request, quirks), ...sampling })}`,
    leftOut: [
      ...leftOut,
      ...(request.settings?.frequencyPenalty ? ['frequency_penalty: the Responses API has no such parameter'] : []),
      ...reasoning.leftOut,
      ...capLeftOut(request, quirks),
      ...verbosityOf(request).leftOut,
      ...notStrict(request, ({ inputSchema }) => strictSchema(inputSchema) !== undefined),
    ],
  }
}

const capLeftOut = ({ settings }: ModelRequest, { outputCap }: Quirks): string[] =>
  outputCap === 'never-send' && settings?.maxOutputTokens !== undefined
    ? ['max_output_tokens: this server takes no output limit']
    : []

function formOf(adjustments: RequestAdjustments, quirks: Quirks): ItemForm {
  const isTextOnly = adjustments.textOnlyResults || quirks.textOnlyResults
  return {
    images: adjustments.stripImages ? 'none' : isTextOnly ? 'not-in-results' : 'all',
    reasoning: adjustments.dropEncryptedReasoning ? 'left-out' : 'replayed',
  }
}

/** JSON mode needs an input message that asks for JSON; instructions do not count. It comes first, so that it stays cached. */
function jsonDemand({ settings }: ModelRequest): string {
  const format = settings?.responseFormat
  return format?.type === 'json' ? JSON.stringify({ role: 'developer', content: formatDemand(format) }) : ''
}

function textOptions(request: ModelRequest): Settings['text'] {
  const { verbosity } = verbosityOf(request)
  const format = request.settings?.responseFormat
  if (!verbosity && (!format || format.type === 'text')) return undefined
  return defined({
    verbosity,
    format:
      format?.type === 'json'
        ? { type: 'json_object' as const }
        : format?.type === 'json-schema'
          ? { type: 'json_schema' as const, ...schemaFormat(format) }
          : undefined,
  })
}

type Settings = Omit<ResponseCreateParamsStreaming, 'model' | 'input' | 'instructions' | 'tools'>

function settingsOf(request: ModelRequest, quirks: Quirks): Settings {
  const { model, outputCap, adjustments, mustCall } = request
  const { effort } = effortOf(request)
  const settings: Settings = { stream: true, store: false }
  if (!adjustments?.dropEncryptedReasoning && hasReasoning(model)) settings.include = ['reasoning.encrypted_content']
  if (mustCall) settings.tool_choice = 'required'
  if (outputCap !== undefined && quirks.outputCap !== 'never-send') settings.max_output_tokens = outputCap
  const summary = quirks.reasoningSummary
  if (effort || summary) settings.reasoning = defined({ effort, summary })
  const text = textOptions(request)
  if (text) settings.text = text
  return settings
}

/** The vendor's default is strict, which rejects optional fields; the tools validate their input themselves. */
const toolsText = newEncodedTools(({ name, description, inputSchema }, form): FunctionTool => {
  const strict = form === 'strict' ? strictSchema(inputSchema) : undefined
  const parameters = (strict ?? inputSchema) as Record<string, unknown>
  return { type: 'function', name, description, parameters, strict: strict !== undefined }
})
