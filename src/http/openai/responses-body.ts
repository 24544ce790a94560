import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import type { InputPart } from '../../core/message.ts'
import type { ModelSettings } from '../../core/model-settings.ts'
import type { SentMessage } from '../../core/openai/sent-message.ts'
import type { ClientTool } from '../../core/run.ts'
import { record } from '../field.ts'
import { refusedValue, withoutEffect } from '../field-fate.ts'
import { requireFormat, toClientTool } from './chat-body.ts'
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

const inputPart = z.discriminatedUnion('type', [
  z.object({ type: z.literal('input_text'), text: z.string() }),
  z.object({ type: z.literal('output_text'), text: z.string() }),
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('refusal'), refusal: z.string() }),
  z.object({
    type: z.literal('input_image'),
    image_url: z.string({ error: 'must be an https address or a data URL: there are no uploaded files' }),
    detail: withoutEffect(z.string().nullish(), 'models choose the resolution of images themselves.'),
  }),
])
const content = z.union([z.string(), z.array(inputPart).min(1)])

const itemId = { id: z.string().nullish(), status: z.string().nullish() }

const messageItem = z.object({
  ...itemId,
  type: z.literal('message'),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content,
  phase: z.string().nullish(),
})

const item = z.preprocess(
  (value) =>
    value !== null && typeof value === 'object' && !('type' in value) && 'role' in value
      ? { ...value, type: 'message' }
      : value,
  z.discriminatedUnion('type', [
    messageItem,
    z.object({
      ...itemId,
      type: z.literal('function_call'),
      call_id: z.string().min(1).max(200),
      name: z.string().min(1).max(128),
      arguments: z.string(),
    }),
    z.object({
      ...itemId,
      type: z.literal('function_call_output'),
      call_id: z.string().min(1).max(200),
      output: z.union([z.string(), z.array(inputPart)]),
    }),
    z.object({
      ...itemId,
      type: z.literal('mcp_approval_response'),
      approval_request_id: z.string().startsWith('mcpr_'),
      approve: z.boolean(),
      reason: z.string().nullish(),
    }),
    // What a client repeats of earlier responses; the conversation has it.
    z.object({ type: z.literal('reasoning') }).loose(),
    z.object({ type: z.literal('mcp_call') }).loose(),
    z.object({ type: z.literal('mcp_approval_request') }).loose(),
    z.object({ type: z.literal('item_reference'), id: z.string() }),
  ]),
)

export const inputItems = z.array(item).max(5_000)

const tool = z
  .object({ type: z.literal('function', { error: 'must be "function": other tools belong to the agent' }) })
  .extend({
    name: functionName,
    description: z.string().nullish(),
    parameters: functionSchema,
    strict: withoutEffect(z.boolean().nullish(), 'it is a setting of the agent (`model_settings.strict`).'),
  })

const IGNORED_INCLUDE = 'responses have everything that Holdfast keeps.'

/** The body of a response. */
export const responseBody = z.object({
  ...SHARED_PARAMETERS,
  input: z
    .union([z.string(), inputItems])
    .nullish()
    .describe('The new messages and results of tools, as text or as a list of items.'),
  instructions: z.string().nullish().describe('Text behind the system prompt of the agent, for this run only.'),
  conversation: z
    .union([z.string().min(1).max(200), z.object({ id: z.string().min(1).max(200) })])
    .nullish()
    .describe('Id of the conversation, or a name for it.'),
  previous_response_id: z.string().max(200).nullish().describe('The response that this one continues from.'),
  background: z.boolean().nullish().describe('Whether to answer at once; the response is read later.'),
  tools: z.array(tool).max(500).nullish().describe('Tools that the caller runs, beside those of the agent.'),
  tool_choice: toolChoice,
  max_output_tokens: outputTokens,
  reasoning: z
    .object({
      effort,
      summary: withoutEffect(z.string().nullish(), 'reasoning is returned as the model gives it.'),
      generate_summary: withoutEffect(z.string().nullish(), 'reasoning is returned as the model gives it.'),
    })
    .nullish(),
  text: z
    .object({
      format: z
        .discriminatedUnion('type', [
          z.object({ type: z.literal('text') }),
          z.object({ type: z.literal('json_object') }),
          z.object({
            type: z.literal('json_schema'),
            name: z.string().min(1).max(64),
            schema: record,
            description: z.string().nullish(),
            strict: z.boolean().nullish(),
          }),
        ])
        .nullish(),
      verbosity,
    })
    .nullish(),
  stream_options: z.object({ include_obfuscation: z.boolean().nullish() }).nullish(),
  include: withoutEffect(z.array(z.string()).nullish(), IGNORED_INCLUDE),
  store: withoutEffect(z.boolean().nullish(), 'agents keep their conversations.', (value) => value === false),
  truncation: withoutEffect(z.string().nullish(), 'agents compact their conversations.', (value) => value === 'auto'),
  max_tool_calls: refusedValue('limit the steps of the agent instead.'),
  top_logprobs: refusedValue('Holdfast does not return log probabilities.'),
  prompt: refusedValue('there are no stored prompts: an agent has its own.'),
  context_management: withoutEffect(z.unknown().optional(), 'agents compact their conversations.'),
})

export type ResponseBody = z.output<typeof responseBody>

export function responseMessages({ instructions, input }: ResponseBody): SentMessage[] {
  const first: SentMessage[] = instructions ? [{ role: 'instruction', at: 0, text: instructions }] : []
  if (typeof input === 'string') return [...first, { role: 'user', at: 0, content: [{ type: 'text', text: input }] }]
  return [...first, ...toSentMessages(input ?? [])]
}

export const toSentMessages = (items: z.output<typeof inputItems>): SentMessage[] => items.flatMap(toSent)

function toSent(sent: z.output<typeof item>, at: number): SentMessage[] {
  switch (sent.type) {
    case 'message': {
      const parts = partsOf(sent.content, at)
      const text = textIn(parts)
      if (sent.role === 'user') return [{ role: 'user', at, content: parts }]
      return sent.role === 'assistant'
        ? [{ role: 'assistant', at, text, calls: [] }]
        : [{ role: 'instruction', at, text }]
    }
    case 'function_call': {
      const { call_id: callId, name, arguments: text } = sent
      return [{ role: 'assistant', at, text: '', calls: [{ callId, name, arguments: text }] }]
    }
    case 'function_call_output': {
      const parts = partsOf(sent.output, at)
      const images = parts.filter((part) => part.type === 'image')
      const output = textIn(parts)
      return [
        {
          role: 'tool',
          at,
          callId: sent.call_id,
          output,
          ...defined({ images: images.length > 0 ? images : undefined }),
        },
      ]
    }
    case 'mcp_approval_response': {
      const { approval_request_id, approve, reason } = sent
      const callId = approval_request_id.slice('mcpr_'.length)
      return [{ role: 'approval', at, callId, approve, ...defined({ reason: reason || undefined }) }]
    }
    case 'reasoning':
    case 'mcp_call':
    case 'mcp_approval_request':
    case 'item_reference':
      return []
  }
}

function partsOf(sent: z.output<typeof content>, at: number): InputPart[] {
  if (typeof sent === 'string') return [{ type: 'text', text: sent }]
  return sent.map((part, index): InputPart => {
    if (part.type === 'input_image') return imageFrom(part.image_url, `input.${at}.content.${index}`)
    return { type: 'text', text: part.type === 'refusal' ? part.refusal : part.text }
  })
}

const textIn = (parts: readonly InputPart[]): string =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')

export const responseTools = ({ tools }: ResponseBody): ClientTool[] =>
  (tools ?? []).map(({ name, description, parameters }) => toClientTool(name, description, parameters))

export function responseSettings(body: ResponseBody): ModelSettings {
  const { temperature, top_p, max_output_tokens, parallel_tool_calls, reasoning, text } = body
  const format = text?.format
  return defined({
    temperature: temperature ?? undefined,
    topP: top_p ?? undefined,
    maxOutputTokens: max_output_tokens ?? undefined,
    parallelToolCalls: parallel_tool_calls ?? undefined,
    effort: reasoning?.effort ?? undefined,
    verbosity: text?.verbosity ?? undefined,
    responseFormat: format ? requireFormat(wireFormat(format), 'text.format') : undefined,
  })
}

type TextFormat = NonNullable<NonNullable<ResponseBody['text']>['format']>

const wireFormat = (format: TextFormat) => {
  if (format.type !== 'json_schema') return { type: format.type }
  const { name, schema, description, strict } = format
  return {
    type: 'json_schema',
    json_schema: { name, schema, ...defined({ description: description ?? undefined, strict: strict ?? undefined }) },
  }
}
