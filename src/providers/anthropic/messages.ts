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
import type { ModelRequest, ToolSpec } from '../../ports/model.ts'
import { authHeaders } from '../wire/auth-headers.ts'
import type { EncodeContext, EncodedRequest, WireDialect } from '../wire/dialect.ts'
import { newEncodedTools } from '../wire/encoded-tools.ts'
import { entriesAt, modelById, recordOf, textAt } from '../wire/model-listing.ts'
import { newAlternatingTurns } from './alternating-turns.ts'
import { newMessagesDecoder } from './decode-messages.ts'
import { type BlockForm, blocksOf, blockTexts, canBeMarked, formKey, startsWithThought } from './message-blocks.ts'
import { claudeFacts, readHandle } from './model-facts.ts'
import { outputSchema } from './output-schema.ts'
import { samplingOf } from './sampling.ts'

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
  const { adjustments = {}, system } = request
  const form: BlockForm = {
    thoughts: adjustments.stripSignatures ? 'left-out' : 'replayed',
    resultImages: adjustments.textOnlyResults || context.quirks.textOnlyResults ? 'left-out' : 'sent',
  }
  const tools = toolTexts(request.tools, adjustments.relaxSchemas ? 'relaxed' : 'as-given')
  const isSystemEmpty = system.trim() === ''
  const { encodedSettings, leftOut } = settings(request, form)
  const head = [
    JSON.stringify(encodedSettings).slice(1, -1),
    ...(tools === '' ? [] : [`"tools":[${isSystemEmpty ? marked(tools) : tools}]`]),
    ...(isSystemEmpty ? [] : [`"system":[${marked(JSON.stringify(textBlock(system)))}]`]),
  ]
  return {
    path: context.quirks.path ?? '/v1/messages',
    headers: headers(request, context),
    body: `{${head.join(',')},"messages":[${messagesText(request.messages, form)}]}`,
    leftOut,
  }
}

const toolTexts = newEncodedTools(toolDefinition)

function toolDefinition({ name, description, inputSchema }: ToolSpec): Tool {
  const isObject = inputSchema !== null && typeof inputSchema === 'object' && !Array.isArray(inputSchema)
  return { name, description, input_schema: { ...(isObject ? inputSchema : undefined), type: 'object' } }
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
    case 'adaptive':
      if (isOff) return { thinking: { type: 'disabled' }, leftOut: [] }
      return {
        thinking: { type: 'adaptive', display: 'summarized' },
        leftOut: asked === undefined ? [] : [`thinking budget: ${model} thinks as much as it needs; set an effort`],
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

function outputConfig({ model, effort, outputSchema: output }: ModelRequest): OutputConfig | undefined {
  const hasEffort = effort && effort !== 'none' && claudeFacts(model).thinking === 'adaptive'
  if (!hasEffort && !output) return undefined
  return defined({
    effort: hasEffort ? (effort === 'minimal' ? 'low' : effort) : undefined,
    format: output ? { type: 'json_schema' as const, schema: outputSchema(output.schema) } : undefined,
  })
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

function headers({ model, adjustments }: ModelRequest, { grant, quirks }: EncodeContext): Record<string, string> {
  const betas = [
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
