import type { FunctionDeclaration, GenerationConfig } from '@google/genai'
import { defined } from '../../core/defined.ts'
import { formatDemand, withDemand } from '../../core/response-format.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { newAlternatingTurns } from '../anthropic/alternating-turns.ts'
import { authHeaders } from '../wire/auth-headers.ts'
import type { EmbeddingDialect, EncodeContext, EncodedRequest } from '../wire/dialect.ts'
import { newEncodedTools, notStrict, toolForm } from '../wire/encoded-tools.ts'
import { formKey, type PartForm, partTexts } from './content-parts.ts'
import { newContentDecoder } from './decode-content.ts'
import { geminiEmbeddings } from './embeddings.ts'
import { generationOf, notThought, thinkingConfig, type WireThinkingConfig } from './model-generation.ts'
import { geminiModels } from './model-listing.ts'
import { schemaSubset } from './schema-subset.ts'

/** The Gemini API of Google: `streamGenerateContent` as server-sent events. */
export const geminiGenerateContent: EmbeddingDialect = {
  name: 'gemini',
  encode,
  newDecoder: newContentDecoder,
  models: geminiModels,
  embeddings: geminiEmbeddings,
}

function encode(request: ModelRequest, { grant, quirks }: EncodeContext): EncodedRequest {
  const { adjustments = {}, model, tools } = request
  const generation = generationOf(model)
  const form: PartForm = {
    signatures: adjustments.stripSignatures ? 'left-out' : 'replayed',
    unsignedCalls: generation.demandsSignatures ? 'excused' : 'bare',
    resultImages:
      adjustments.textOnlyResults || quirks.textOnlyResults
        ? 'left-out'
        : generation.nestsResultImages
          ? 'nested'
          : 'beside',
  }
  const system = systemText(request)
  const mode = callingMode(request)
  const head = [
    ...(system.trim() === '' ? [] : [`"systemInstruction":${JSON.stringify({ parts: [{ text: system }] })}`]),
    ...(tools.length === 0
      ? []
      : [
          `"tools":[{"functionDeclarations":[${declarations(tools, adjustments.relaxSchemas ? 'relaxed' : 'as-given')}]}]`,
        ]),
    ...(mode ? [`"toolConfig":{"functionCallingConfig":{"mode":"${mode}"}}`] : []),
    `"generationConfig":${JSON.stringify(generationConfig(request))}`,
  ]
  return {
    path: quirks.path ?? `/v1beta/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`,
    headers: authHeaders(grant, quirks.auth ?? 'x-goog-api-key'),
    body: `{${head.join(',')},"contents":[${turnsText(request.messages, form)}]}`,
    leftOut: [...leftOutOf(request), ...notThought(request)],
  }
}

type WireGenerationConfig = Omit<GenerationConfig, 'thinkingConfig'> & { thinkingConfig?: WireThinkingConfig }

function generationConfig(request: ModelRequest): WireGenerationConfig {
  const thinking = thinkingConfig(request)
  const format = takesSchema(request) ? request.settings?.responseFormat : undefined
  const schema = format?.type === 'json-schema' ? format.schema : undefined
  return defined({
    temperature: request.settings?.temperature,
    topP: request.settings?.topP,
    maxOutputTokens: request.outputCap,
    frequencyPenalty: request.settings?.frequencyPenalty,
    thinkingConfig: thinking,
    responseMimeType: format && format.type !== 'text' ? 'application/json' : undefined,
    responseJsonSchema: schema === undefined ? undefined : schemaSubset(schema),
  })
}

/** Strict calls match their schema. A forced call matches it anyway. */
function callingMode(request: ModelRequest): 'ANY' | 'VALIDATED' | undefined {
  if (request.mustCall) return 'ANY'
  const isStrict = toolForm(request) === 'strict' && request.tools.length > 0
  return isStrict && generationOf(request.model).validatesCalls ? 'VALIDATED' : undefined
}

function leftOutOf(request: ModelRequest): string[] {
  const { model, settings = {}, tools } = request
  const { parallelToolCalls, responseFormat: format, verbosity } = settings
  const isAsked = format && format.type !== 'text' && !takesSchema(request)
  const { validatesCalls } = generationOf(model)
  return [
    ...(parallelToolCalls === false && tools.length > 0
      ? ['parallel_tool_calls: Gemini has no setting against parallel calls']
      : []),
    ...(isAsked
      ? [`response_format: ${model} takes no format together with tools; the system prompt asks for JSON`]
      : []),
    ...(verbosity ? ['verbosity: the Gemini API has no such parameter'] : []),
    ...(settings.strictTools && tools.length > 0 && !validatesCalls
      ? [`strict: ${model} does not validate calls`]
      : notStrict(request, () => true)),
  ]
}

/** Older models reject an output format together with tools; for them the system prompt asks for it. */
function systemText(request: ModelRequest): string {
  const { system, settings } = request
  const format = settings?.responseFormat
  if (!format || format.type === 'text' || takesSchema(request)) return system
  return withDemand(system, formatDemand(format))
}

const takesSchema = ({ model, tools }: ModelRequest): boolean =>
  tools.length === 0 || generationOf(model).joinsSchemaAndTools

const declarations = newEncodedTools(
  ({ name, description, inputSchema }): FunctionDeclaration => ({
    name,
    description,
    parametersJsonSchema: schemaSubset(inputSchema),
  }),
)

/** The vendor requires a user turn first and last. */
const turnsText = newAlternatingTurns<PartForm>({
  modelRole: 'model',
  listName: 'parts',
  textOf: (body, form, answer) => partTexts.one(body, body.role === 'tool' ? { ...form, answer } : form),
  keyOf: formKey,
  opening: JSON.stringify({ text: '[The conversation begins.]' }),
  continuation: JSON.stringify({ text: '[Continue.]' }),
})
