import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import type { Json } from '../../core/json.ts'
import type { InputPart } from '../../core/message.ts'
import type { ModelSettings } from '../../core/model-settings.ts'
import type { SentMessage } from '../../core/openai/sent-message.ts'
import { Problem } from '../../core/problem.ts'
import { parseResponseFormat, type ResponseFormat } from '../../core/response-format.ts'
import type { ClientTool } from '../../core/run.ts'
import { record } from '../field.ts'
import { refusedFlag, refusedValue, withoutEffect } from '../field-fate.ts'
import { imageFrom } from './image-url.ts'
import {
  effort,
  functionName,
  functionSchema,
  outputTokens,
  SHARED_PARAMETERS,
  toolChoice,
  verbosity,
} from './parameters.ts'

const NO_LOGPROBS = 'Holdfast does not return log probabilities.'

const textPart = z.object({ type: z.literal('text'), text: z.string() })
const imagePart = z.object({
  type: z.literal('image_url'),
  image_url: z.object({
    url: z.string().min(1).describe('An https address, or a data URL with the image.'),
    detail: withoutEffect(z.string().nullish(), 'models choose the resolution of images themselves.'),
  }),
})
const refusalPart = z.object({ type: z.literal('refusal'), refusal: z.string() })
const texts = z.union([z.string(), z.array(textPart)])

const toolCall = z.object({
  id: z.string().min(1).max(200),
  type: z.literal('function').default('function'),
  function: z.object({ name: z.string().min(1).max(128), arguments: z.string() }),
})

const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content: texts, name: z.string().nullish() }),
  z.object({ role: z.literal('developer'), content: texts, name: z.string().nullish() }),
  z.object({
    role: z.literal('user'),
    content: z.union([z.string(), z.array(z.discriminatedUnion('type', [textPart, imagePart])).min(1)]),
    name: z.string().max(200).nullish().describe('Name of the sender, passed on to models that take names.'),
  }),
  z.object({
    role: z.literal('assistant'),
    content: z.union([z.string(), z.array(z.discriminatedUnion('type', [textPart, refusalPart]))]).nullish(),
    refusal: z.string().nullish(),
    tool_calls: z.array(toolCall).max(500).nullish(),
    name: z.string().nullish(),
    reasoning_content: z.string().nullish().describe('Accepted: the reasoning is in the conversation.'),
  }),
  z.object({ role: z.literal('tool'), content: texts, tool_call_id: z.string().min(1).max(200) }),
])

const tool = z.object({
  type: z.literal('function', { error: 'must be "function": other tools belong to the agent' }),
  function: z.object({
    name: functionName,
    description: z.string().nullish(),
    parameters: functionSchema,
    strict: withoutEffect(z.boolean().nullish(), 'it is a setting of the agent (`model_settings.strict`).'),
  }),
})

const responseFormat = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('text') }),
    z.object({ type: z.literal('json_object') }),
    z.object({ type: z.literal('json_schema'), json_schema: record }),
  ])
  .nullish()
  .describe('The form of the answer.')

/** The body of a chat completion. */
export const chatBody = z.object({
  ...SHARED_PARAMETERS,
  messages: z
    .array(message)
    .min(1)
    .max(5_000)
    .describe('The new messages, or the whole chat: what the conversation has already is recognized.'),
  conversation: z
    .string()
    .min(1)
    .max(200)
    .nullish()
    .describe('Id of the conversation, or a name for it. Only Holdfast has this field.'),
  tools: z.array(tool).max(500).nullish().describe('Tools that the caller runs, beside those of the agent.'),
  tool_choice: toolChoice,
  stream_options: z
    .object({
      include_usage: z.boolean().nullish().describe('Whether the last chunk has the usage.'),
      include_obfuscation: z.boolean().nullish().describe('Accepted: streams are not obfuscated.'),
    })
    .nullish(),
  max_tokens: outputTokens,
  max_completion_tokens: outputTokens,
  reasoning_effort: effort,
  verbosity,
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  response_format: responseFormat,
  n: z.literal(1, { error: 'must be 1: an agent gives one answer' }).nullish(),
  presence_penalty: z.literal(0, { error: 'is not supported; use frequency_penalty' }).nullish(),
  logprobs: refusedFlag(NO_LOGPROBS),
  top_logprobs: refusedValue(NO_LOGPROBS),
  logit_bias: z
    .record(z.string(), z.number())
    .refine((bias) => Object.keys(bias).length === 0, 'is not supported: not every model of a chain takes it')
    .nullish(),
  stop: refusedValue('Holdfast does not cut answers at texts.'),
  seed: withoutEffect(z.number().nullish(), 'agents do not repeat their turns.'),
  store: withoutEffect(z.boolean().nullish(), 'agents keep their conversations.', (value) => value === false),
  modalities: z.array(z.literal('text', { error: 'must be "text": agents answer with text' })).nullish(),
  audio: refusedValue('agents answer with text.'),
  prediction: withoutEffect(z.unknown().optional(), 'it is not passed on to providers.'),
  web_search_options: refusedValue('an agent searches the web with its own tools.'),
  functions: refusedValue('it was replaced by `tools`.'),
  function_call: refusedValue('it was replaced by `tool_choice`.'),
})

export type ChatBody = z.output<typeof chatBody>

export const chatMessages = ({ messages }: ChatBody): SentMessage[] => messages.map(toSentMessage)

function toSentMessage(sent: z.output<typeof message>, at: number): SentMessage {
  switch (sent.role) {
    case 'system':
    case 'developer':
      return { role: 'instruction', at, text: textIn(sent.content) }
    case 'user': {
      const { content, name } = sent
      const parts: InputPart[] =
        typeof content === 'string'
          ? [{ type: 'text', text: content }]
          : content.map((part, index) =>
              part.type === 'text' ? part : imageFrom(part.image_url.url, `messages.${at}.content.${index}`),
            )
      return { role: 'user', at, content: parts, ...defined({ name: name || undefined }) }
    }
    case 'assistant': {
      const { content, tool_calls } = sent
      const calls = (tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({
        callId: id,
        name,
        arguments: args,
      }))
      const parts = typeof content === 'string' ? content : (content ?? []).map(textOfPart).join('')
      return { role: 'assistant', at, text: parts, calls }
    }
    case 'tool':
      return { role: 'tool', at, callId: sent.tool_call_id, output: textIn(sent.content) }
  }
}

const textOfPart = (part: { type: 'text'; text: string } | { type: 'refusal'; refusal: string }): string =>
  part.type === 'text' ? part.text : part.refusal

const textIn = (content: z.output<typeof texts>): string =>
  typeof content === 'string' ? content : content.map(({ text }) => text).join('')

export const chatTools = ({ tools }: ChatBody): ClientTool[] =>
  (tools ?? []).map(({ function: { name, description, parameters } }) => toClientTool(name, description, parameters))

export const toClientTool = (
  name: string,
  description: string | null | undefined,
  parameters: Json | null | undefined,
): ClientTool => ({
  name,
  description: description ?? '',
  inputSchema: parameters ?? { type: 'object', properties: {} },
})

export function chatSettings(body: ChatBody): ModelSettings {
  const { temperature, top_p, max_completion_tokens, max_tokens, parallel_tool_calls, reasoning_effort } = body
  return defined({
    temperature: temperature ?? undefined,
    topP: top_p ?? undefined,
    maxOutputTokens: max_completion_tokens ?? max_tokens ?? undefined,
    parallelToolCalls: parallel_tool_calls ?? undefined,
    effort: reasoning_effort ?? undefined,
    verbosity: body.verbosity ?? undefined,
    frequencyPenalty: body.frequency_penalty ?? undefined,
    responseFormat: body.response_format ? requireFormat(body.response_format as Json, 'response_format') : undefined,
  })
}

export function requireFormat(format: Json, field: string): ResponseFormat {
  const parsed = parseResponseFormat(format)
  if (parsed) return parsed
  throw new Problem('invalid', `body.${field}: json_schema must have a \`name\` and a \`schema\``)
}
