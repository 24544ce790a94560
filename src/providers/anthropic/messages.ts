import type {
  MessageCreateParamsStreaming,
  OutputConfig,
  TextBlockParam,
  ThinkingConfigParam,
  Tool,
} from '@anthropic-ai/sdk/resources/messages/messages'
import { defined } from '../../core/defined.ts'
import type { MessageBody } from '../../core/message.ts'
import type { Effort } from '../../core/model-settings.ts'
import { formatDemand, withDemand } from '../../core/response-format.ts'
import type { ModelRequest, ToolSpec } from '../../ports/model.ts'
import { authHeaders } from '../wire/auth-headers.ts'
import type { EncodeContext, EncodedRequest, WireDialect } from '../wire/dialect.ts'
import { newEncodedTools, notStrict, type ToolForm, toolForm } from '../wire/encoded-tools.ts'
import { entriesAt, modelById, recordOf, textAt } from '../wire/model-listing.ts'
import { newAlternatingTurns } from './alternating-turns.ts'
import { newMessagesDecoder } from './decode-messages.ts'
import { type BlockForm, blocksOf, blockTexts, canBeMarked, formKey, startsWithThought } from './message-blocks.ts'
import { claudeFacts, readHandle } from './model-facts.ts'
import { canBeClosed, outputSchema } from './output-schema.ts'
import { notTaken, samplingOf } from './sampling.ts'

const VERSION = { 'anthropic-version': '2023-06-01' }

/** The Messages API of Anthropic and compatible servers. */
export const anthropicMessages: WireDialect = {
  name: 'anthropic',
  encode,
  newDecoder: newMessagesDecoder,
  models: {
    path: (after) => `/v1/models?limit=1000${after === undefined ? '' : `&after_id=${encodeURIComponent(after)}`}`,
    auth: 'x-api-key',
    headers: VERSION,
    pageOf(body) {
      const page = entriesAt(body, 'data')
      const last = recordOf(body)?.has_more === true ? textAt(recordOf(body)!, 'last_id') : undefined
      return page && (last === undefined ? page : { ...page, next: last })
    },
    modelOf: modelById,
  },
}

/** Tools, system and messages come last, in the order in which the vendor caches them. */
function encode(request: ModelRequest, context: EncodeContext): EncodedRequest {
  const { adjustments = {} } = request
  const { system, leftOut: notFormatted } = promptOf(request)
  const form: BlockForm = {
    thoughts: adjustments.stripSignatures ? 'left-out' : 'replayed',
    resultImages: adjustments.textOnlyResults || context.quirks.textOnlyResults ? 'left-out' : 'sent',
  }
  const tools = toolTexts(request.tools, strictness(request))
  const isSystemEmpty = system.trim() === ''
  const { encodedSettings, leftOut } = settings(request, form)
  const head = [
    JSON.stringify(encodedSettings).slice(1, -1),
    ...(tools === '' ? [] : [`"tools":[${isSystemEmpty ? marked(tools) : tools}]`]),
    ...(isSystemEmpty ? [] : [`"system":[${marked(JSON.stringify(textBlock(system)))}]`]),
  ]
  return {
    path: context.quirks.path ?? '/v1/messages',
    headers: headers(request, { ...context, thinking: encodedSettings.thinking }),
    body: `{${head.join(',')},"messages":[${messagesText(request.messages, form)}]}`,
    leftOut: [...leftOut, ...notFormatted, ...notTaken(request), ...looseTools(request)],
  }
}

const toolTexts = newEncodedTools(toolDefinition)

function toolDefinition({ name, description, inputSchema }: ToolSpec, form: ToolForm): Tool {
  const isStrict = form === 'strict' && canBeClosed(inputSchema)
  const schema = isStrict ? outputSchema(inputSchema) : inputSchema
  const isObject = schema !== null && typeof schema === 'object' && !Array.isArray(schema)
  const input_schema = { ...(isObject ? schema : undefined), type: 'object' as const }
  return { name, description, input_schema, ...defined({ strict: isStrict ? (true as const) : undefined }) }
}

/** Older models reject strict tools. */
function strictness(request: ModelRequest): ToolForm {
  const form = toolForm(request)
  return form === 'strict' && !claudeFacts(request.model).isStructured ? 'as-given' : form
}

function looseTools(request: ModelRequest): string[] {
  if (!request.settings?.strictTools || request.tools.length === 0) return []
  if (!claudeFacts(request.model).isStructured) return [`strict: ${request.model} has no strict tools`]
  return notStrict(request, ({ inputSchema }) => canBeClosed(inputSchema))
}

/** The API takes a schema, from newer models on; otherwise the system prompt asks for JSON. */
function promptOf({ model, system, settings }: ModelRequest): { system: string; leftOut: string[] } {
  const format = settings?.responseFormat
  if (!format || format.type === 'text') return { system, leftOut: [] }
  const isSent = format.type === 'json-schema' && claudeFacts(model).isStructured
  if (isSent) return { system, leftOut: [] }
  const missing = format.type === 'json' ? 'JSON mode' : 'structured outputs'
  const note = `response_format: ${model} has no ${missing}; the system prompt asks for JSON`
  return { system: withDemand(system, formatDemand(format)), leftOut: [note] }
}

type Settings = Omit<MessageCreateParamsStreaming, 'tools' | 'system' | 'messages'>

function settings(request: ModelRequest, form: BlockForm): { encodedSettings: Settings; leftOut: string[] } {
  const { name } = readHandle(request.model)
  const maxTokens = request.outputCap ?? claudeFacts(request.model).maxOutput
  const output = outputConfig(request)
  const { thinking, leftOut: notThought } = thinkingConfig(request, form, maxTokens)
  const isThinking = thinking !== undefined && thinking.type !== 'disabled'
  const { sampling, leftOut } = samplingOf(request, { isThinking })
  const encodedSettings = {
    model: name,
    max_tokens: maxTokens,
    stream: true as const,
    ...sampling,
    // The vendor rejects a forced tool choice together with thinking.
    ...defined({ thinking, output_config: output, tool_choice: toolChoice(request, { canForce: !isThinking }) }),
  }
  return { encodedSettings, leftOut: [...leftOut, ...notThought] }
}

function toolChoice(
  { mustCall, settings, tools }: ModelRequest,
  { canForce }: { canForce: boolean },
): Settings['tool_choice'] {
  const type = mustCall && canForce ? 'any' : 'auto'
  if (settings?.parallelToolCalls === false && tools.length > 0) return { type, disable_parallel_tool_use: true }
  return type === 'any' ? { type } : undefined
}

/** The vendor requires at least 1,024 and less than `max_tokens`. */
const LEAST_BUDGET = 1_024
const BUDGETS: Record<Exclude<Effort, 'none'>, number> = {
  minimal: 1_024,
  low: 4_096,
  medium: 12_288,
  high: 24_576,
  xhigh: 32_768,
  max: 49_152,
}

type Thinking = { thinking?: ThinkingConfigParam; leftOut: string[] }

function thinkingConfig(request: ModelRequest, form: BlockForm, maxTokens: number): Thinking {
  const { model, effort, messages, settings } = request
  const asked = settings?.thinkingBudget
  if (!effort && asked === undefined) return { leftOut: [] }
  const isOff = effort === 'none' || asked === 0
  const { thinking } = claudeFacts(model)
  switch (thinking) {
    case 'none':
      return { leftOut: isOff ? [] : [`reasoning: ${model} has no thinking`] }
    case 'always':
      return {
        thinking: { type: 'adaptive', display: 'summarized' },
        leftOut: [
          ...(isOff ? [`reasoning: ${model} always thinks; the request has the lowest effort`] : []),
          ...budgetNote(model, asked),
        ],
      }
    case 'adaptive':
      if (isOff) return { thinking: { type: 'disabled' }, leftOut: [] }
      return {
        thinking: { type: 'adaptive', display: 'summarized' },
        leftOut: budgetNote(model, asked),
      }
    case 'budget': {
      if (isOff) return { leftOut: [] }
      // A budget that follows from the effort reserves at least half of the output for the answer.
      const budget = asked ?? Math.min(BUDGETS[effort ?? 'minimal'], Math.floor(maxTokens / 2))
      if (budget < LEAST_BUDGET || budget >= maxTokens)
        return {
          leftOut: [`reasoning: a thinking budget is at least ${LEAST_BUDGET} and below max_tokens, ${maxTokens}`],
        }
      if (isInsideThoughtlessStep(messages, form))
        return { leftOut: ['reasoning: the step began without thoughts, so the vendor rejects thinking until its end'] }
      return { thinking: { type: 'enabled', budget_tokens: budget }, leftOut: [] }
    }
  }
}

const budgetNote = (model: string, asked: number | undefined): string[] =>
  asked ? [`thinking budget: ${model} thinks as much as it needs; set an effort`] : []

/** With a thinking budget, results must follow an answer that starts with a thought; after a failover it may not. */
function isInsideThoughtlessStep(messages: readonly MessageBody[], form: BlockForm): boolean {
  let answer = ''
  let hasCalls = false
  for (let position = messages.length - 1; position >= 0; position--) {
    const body = messages[position]!
    const blocks = blockTexts.one(body, form)
    if (blocks === '') continue
    // Adjacent answers are sent as one.
    if (body.role === 'assistant') {
      answer = blocks
      hasCalls ||= body.calls.length > 0
    } else if (answer !== '') break
  }
  return hasCalls && !startsWithThought(answer)
}

function outputConfig({ model, effort, settings }: ModelRequest): OutputConfig | undefined {
  const { thinking, isStructured } = claudeFacts(model)
  const format = settings?.responseFormat
  const schema = format?.type === 'json-schema' && isStructured ? format.schema : undefined
  const sentEffort = effortFor(thinking, settings?.thinkingBudget === 0 ? 'none' : effort)
  if (!sentEffort && schema === undefined) return undefined
  return defined({
    effort: sentEffort,
    format: schema === undefined ? undefined : { type: 'json_schema' as const, schema: outputSchema(schema) },
  })
}

function effortFor(thinking: ReturnType<typeof claudeFacts>['thinking'], effort: Effort | undefined) {
  if (thinking === 'none' || thinking === 'budget' || effort === undefined) return undefined
  if (effort === 'none') return thinking === 'always' ? 'low' : undefined
  return effort === 'minimal' ? 'low' : effort
}

/** Plus one mark on the system prompt (or on the tools, without a prompt): the vendor's limit is four. */
const MESSAGE_MARKS = 3
const MARK = ',"cache_control":{"type":"ephemeral"}}'
/** Marks the last block. */
const marked = (blocks: string): string => blocks.slice(0, -1) + MARK

const textBlock = (text: string): TextBlockParam => ({ type: 'text', text })

/** Models without prefill reject a conversation that ends with an answer. */
const turnsText = newAlternatingTurns<BlockForm>({
  modelRole: 'assistant',
  listName: 'content',
  textOf: (body, form) => blockTexts.one(body, form),
  keyOf: formKey,
  opening: JSON.stringify(textBlock('[The conversation begins.]')),
  continuation: JSON.stringify(textBlock('[Continue.]')),
})

const messagesText = (messages: readonly MessageBody[], form: BlockForm): string =>
  turnsText(messages, form, { positions: markedPositions(messages, form), mark: marked })

/** The last messages that can carry a mark: each ended an earlier request, so its cache entry is hit again. */
function markedPositions(messages: readonly MessageBody[], form: BlockForm): number[] {
  const positions: number[] = []
  for (let position = messages.length - 1; position >= 0 && positions.length < MESSAGE_MARKS; position--) {
    if (canBeMarked(blocksOf(messages[position]!, form).at(-1))) positions.push(position)
  }
  return positions
}

const LONG_CONTEXT_BETA = 'context-1m-2025-08-07'
const OAUTH_BETA = 'oauth-2025-04-20'
/** Models with a thinking budget think between tool calls only with this header. */
const INTERLEAVED_BETA = 'interleaved-thinking-2025-05-14'

type HeaderContext = EncodeContext & { thinking: ThinkingConfigParam | undefined }

function headers(
  { model, adjustments, tools }: ModelRequest,
  { grant, quirks, thinking }: HeaderContext,
): Record<string, string> {
  const isInterleaved = thinking?.type === 'enabled' && tools.length > 0 && claudeFacts(model).interleaves
  const betas = [
    ...(isInterleaved ? [INTERLEAVED_BETA] : []),
    ...listed(quirks.headers?.['anthropic-beta']),
    ...listed(grant?.headers?.['anthropic-beta']),
    ...(grant?.kind === 'oauth' ? [OAUTH_BETA] : []),
    ...(readHandle(model).wantsLongContext ? [LONG_CONTEXT_BETA] : []),
  ].filter((beta) => !(adjustments?.dropLongContextBeta && beta === LONG_CONTEXT_BETA))
  const hasBetas = betas.length > 0 || quirks.headers?.['anthropic-beta'] || grant?.headers?.['anthropic-beta']
  return {
    ...VERSION,
    ...authHeaders(grant, quirks.auth ?? 'x-api-key'),
    ...defined({ 'anthropic-beta': hasBetas ? [...new Set(betas)].join(',') : undefined }),
  }
}

const listed = (header: string | undefined): string[] =>
  (header ?? '')
    .split(',')
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '')
