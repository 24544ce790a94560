import { z } from 'zod'
import { ADMISSION_POLICIES } from '../../core/admission.ts'
import type { Verdict } from '../../core/approval.ts'
import { defined } from '../../core/defined.ts'
import type { InputPart } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import type { ClientTool } from '../../core/run.ts'
import type { NewInput } from '../../service/messages/send-message.ts'
import { record } from '../field.ts'
import { refusedFlag, refusedValue, withoutEffect } from '../field-fate.ts'
import { messageType } from './wire/message-type.ts'

const NO_GROUPS = 'Holdfast has no groups of agents.'
const SHOWN_ONLY = 'models read `tool_return` only.'

const textPart = z.object({
  type: z.literal('text'),
  text: z.string(),
  signature: withoutEffect(z.string().nullish(), 'texts are sent to models without signatures.'),
})
const imageDetail = withoutEffect(z.string().nullish(), 'models choose the resolution of images themselves.')
const imagePart = z.object({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    z.object({
      type: z.literal('base64'),
      media_type: z.string().min(1),
      data: z.string().min(1),
      detail: imageDetail,
    }),
    z.object({ type: z.literal('url'), url: z.url() }),
  ]),
})
/** Text, or a list of texts and images. */
export const contentBody = z.union([z.string(), z.array(z.discriminatedUnion('type', [textPart, imagePart])).min(1)])

const plainMessage = z.object({
  type: z.literal('message'),
  role: z
    .enum(['user', 'system', 'assistant'])
    .describe('Sender of the message. `assistant` adds text to the history as if the model had written it.'),
  content: contentBody,
  otid: z
    .string()
    .min(1)
    .max(200)
    .nullish()
    .describe('Id that the client chooses. A message sent again under the same id attaches to the run of the first.'),
  name: z.string().nullish().describe('Name of the sender, passed on to models that take names.'),
  sender_id: withoutEffect(z.string().nullish(), 'senders are not told apart; send a `name`.'),
  group_id: withoutEffect(z.string().nullish(), NO_GROUPS),
  batch_item_id: withoutEffect(z.string().nullish(), 'Holdfast has no batches.'),
})

const clientResult = z.object({
  tool_call_id: z.string().describe('Id of the call.'),
  tool_return: z
    .union([z.string(), z.array(z.discriminatedUnion('type', [textPart, imagePart]))])
    .describe('Result of the call: text, or a list of texts and images.'),
  status: z.enum(['success', 'error']).default('success').describe('Whether the call succeeded.'),
  stdout: withoutEffect(z.array(z.string()).nullish(), SHOWN_ONLY),
  stderr: withoutEffect(z.array(z.string()).nullish(), SHOWN_ONLY),
})
const decision = z.object({ tool_call_id: z.string(), approve: z.boolean(), reason: z.string().nullish() })

/** Clients may omit the type; it is derived from the other fields. */
const approvalEntry = z.union([
  clientResult.extend({ type: z.literal('tool').default('tool') }),
  decision.extend({ type: z.literal('approval').default('approval') }),
])

const ANSWER_FIELDS = {
  otid: withoutEffect(z.string().nullish(), 'a repeated answer attaches to the run of the first one without it.'),
  group_id: withoutEffect(z.string().nullish(), NO_GROUPS),
}

const approval = z.object({
  type: z.literal('approval'),
  approvals: z.array(approvalEntry).nullish().describe('A decision or a result for each pending call.'),
  /** Deprecated, but clients still send it. */
  approve: z.boolean().nullish().describe('Deprecated: one decision for all pending calls.'),
  approval_request_id: z.string().nullish().describe('Deprecated: the request or call that `approve` answers.'),
  reason: z.string().nullish().describe('Deprecated: why `approve` is false; the model reads it.'),
  ...ANSWER_FIELDS,
})
const toolReturn = z.object({
  type: z.literal('tool_return'),
  tool_returns: z.array(clientResult).min(1),
  ...ANSWER_FIELDS,
})

const input = z.preprocess(withInputType, z.discriminatedUnion('type', [plainMessage, approval, toolReturn]))

/** A message that does not answer waiting calls. */
export const plainInput = z.preprocess(withInputType, plainMessage)

function withInputType(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || 'type' in value) return value
  // An approval is never a side effect: a message with content is a message, also with such fields.
  const isMessage = 'role' in value || 'content' in value
  const isApproval = !isMessage && ('approvals' in value || 'approve' in value || 'approval_request_id' in value)
  return { ...value, type: isApproval ? 'approval' : 'tool_returns' in value ? 'tool_return' : 'message' }
}

const clientTool = z.object({
  name: z
    .string()
    .min(1)
    .max(128)
    .describe('Name the model calls the tool by. It takes precedence over a tool of the agent with the same name.'),
  description: z.string().nullish().describe('What the model reads about the tool.'),
  parameters: record.nullish().describe('JSON Schema of the arguments.'),
})

const clientSkill = z.object({
  name: z.string().min(1).describe('Name of the skill.'),
  description: z.string().nullish().describe('What the model reads about the skill.'),
  location: z.string().nullish().describe('Where the client keeps the skill; the model reads it.'),
})

const SHOWN_AS_CALLS = 'agents answer without a tool that speaks. Lists of messages take it for older histories.'

/** The body of every route that sends. Unknown fields are accepted with a warning, because newer clients send some. */
export const sendBody = z.object({
  messages: z
    .array(input)
    .max(1000)
    .nullish()
    .describe('Messages to send; the first one may answer pending calls. Either this or `input`.'),
  input: contentBody.nullish().describe('Short form of one user message. Either this or `messages`.'),
  agent_id: z.string().nullish().describe('Id of the agent, for the conversation `default`. Conversation routes only.'),
  streaming: z
    .boolean()
    .nullish()
    .describe('Whether the response is a stream of events. Default: false, on conversation routes true.'),
  stream_tokens: z
    .boolean()
    .nullish()
    .describe('Whether the stream sends text as the model writes it, in place of whole messages.'),
  background: z
    .boolean()
    .nullish()
    .describe(
      'Marks the run as a background run, for filters of runs. Every run outlives its connection. Streams only.',
    ),
  include_pings: z
    .boolean()
    .nullish()
    .describe('Whether the stream sends `ping` events while it is idle, in place of comments. Default: true.'),
  include_compaction_messages: z
    .boolean()
    .nullish()
    .describe('Whether the stream sends summaries as messages that the official client shows.'),
  include_return_message_types: z
    .array(messageType)
    .nullish()
    .describe('Message types to return, such as `assistant_message`. Default: all.'),
  max_steps: z.int().min(1).max(10_000).nullish().describe('Maximum number of steps of the run.'),
  override_model: z.string().nullish().describe('Model for this run, as provider/model.'),
  override_system: z.string().nullish().describe('System prompt for this run, in place of that of the agent.'),
  client_tools: z
    .array(clientTool)
    .max(500)
    .nullish()
    .describe('Tools that the client runs. Their calls wait until the client sends results.'),
  client_skills: z
    .array(clientSkill)
    .max(500)
    .nullish()
    .describe('Skills of the client that the model reads about in this run.'),
  enable_thinking: z
    .union([z.enum(['true', 'false']), z.boolean()])
    .nullish()
    .describe('Deprecated: turns reasoning on or off for this run.'),
  use_assistant_message: withoutEffect(z.boolean().nullish(), SHOWN_AS_CALLS),
  assistant_message_tool_name: withoutEffect(
    z.string().nullish(),
    SHOWN_AS_CALLS,
    (value) => value !== null && value !== 'send_message',
  ),
  assistant_message_tool_kwarg: withoutEffect(
    z.string().nullish(),
    SHOWN_AS_CALLS,
    (value) => value !== null && value !== 'message',
  ),
  return_logprobs: refusedFlag('Holdfast does not return log probabilities.'),
  top_logprobs: refusedValue('Holdfast does not return log probabilities.'),
  return_token_ids: refusedFlag('Holdfast does not return token ids.'),
  cancel_on_disconnect: z.boolean().nullish().describe('Whether the run is cancelled when the client disconnects.'),
  when_busy: z
    .enum(ADMISSION_POLICIES)
    .nullish()
    .describe(
      'What the message does while a turn runs: `queue` waits for it, `steer` joins it at its next step, `interrupt` cancels it and goes next, `reject` is refused with 409. Also as the header `x-holdfast-when-busy`. Default: `when_busy` of the agent, else `queue`, on conversation routes `reject`. Approvals and tool returns ignore it. Only Holdfast has this field.',
    ),
  callback_url: z.string().max(2048).nullish().describe('Webhook that Holdfast calls when the run has ended.'),
})

export type SendBody = z.output<typeof sendBody>

/** The client declares `enable_thinking` as text. */
const THINKING = { true: 'on', false: 'off' } as const

export const askedReasoning = ({ enable_thinking: asked }: SendBody): 'on' | 'off' | undefined =>
  asked === null || asked === undefined ? undefined : THINKING[`${asked}`]

/** A parsed request: new inputs, or the answer to waiting calls with optional follow-up inputs. */
export type ParsedSend =
  | { type: 'inputs'; inputs: NewInput[] }
  | { type: 'answer'; verdicts: Verdict[]; blanket?: BlanketDecision; followUps: NewInput[] }

/** The deprecated form: one decision for all pending calls. */
type BlanketDecision = { approve: boolean; reason?: string; requestId: string }

export function parseSend({ messages, input: short }: SendBody): ParsedSend {
  const hasShort = short !== undefined && short !== null
  if (hasShort === Array.isArray(messages))
    throw new Problem('invalid', 'body: send either `input` or `messages`, not both')
  if (hasShort) return { type: 'inputs', inputs: [{ role: 'user', content: toInputParts(short) }] }
  const [first, ...rest] = messages ?? []
  if (!first) throw new Problem('invalid', 'body.messages: must contain at least one message')
  if (first.type === 'message') return { type: 'inputs', inputs: [first, ...rest].map(toNewInput) }
  const followUps = rest.map(toNewInput)
  if (first.type === 'tool_return')
    return { type: 'answer', verdicts: first.tool_returns.map(toResultVerdict), followUps }
  return { type: 'answer', ...parseApproval(first), followUps }
}

export function toNewInput(one: z.output<typeof input>, index: number): NewInput {
  if (one.type !== 'message')
    throw new Problem('invalid', `body.messages.${index}: only the first message may be an approval`)
  const { role, otid, name } = one
  const parts = toInputParts(one.content)
  if (role === 'assistant' && parts.some(({ type }) => type === 'image'))
    throw new Problem('invalid', `body.messages.${index}.content: a message with the role assistant must be text only`)
  return { role, content: parts, ...defined({ otid: otid || undefined, name: name || undefined }) }
}

function parseApproval({ approvals, approve, approval_request_id, reason }: z.output<typeof approval>) {
  if (approvals && approvals.length > 0) return { verdicts: approvals.map(toVerdict) }
  if (typeof approve !== 'boolean') throw new Problem('invalid', 'body.messages.0: an approval needs `approvals`')
  if (!approval_request_id)
    throw new Problem(
      'invalid',
      'body.messages.0: an approval names what it approves: `approvals` with the ids of the calls, or `approval_request_id`',
    )
  const blanket: BlanketDecision = {
    approve,
    requestId: approval_request_id,
    ...defined({ reason: reason || undefined }),
  }
  return { verdicts: [], blanket }
}

function toVerdict(entry: z.output<typeof approvalEntry>): Verdict {
  if (entry.type === 'tool') return toResultVerdict(entry)
  const { tool_call_id: callId, reason } = entry
  if (entry.approve) return { callId, verdict: 'approve' }
  return { callId, verdict: 'deny', ...defined({ reason: reason || undefined }) }
}

function toResultVerdict({ tool_call_id, tool_return, status }: z.output<typeof clientResult>): Verdict {
  const parts =
    typeof tool_return === 'string' ? [{ type: 'text' as const, text: tool_return }] : toInputParts(tool_return)
  const output = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  const images = parts.filter((part) => part.type === 'image')
  return {
    callId: tool_call_id,
    verdict: 'result',
    status,
    output,
    ...defined({ images: images.length > 0 ? images : undefined }),
  }
}

export function toInputParts(parts: z.output<typeof contentBody>): InputPart[] {
  if (typeof parts === 'string') return [{ type: 'text', text: parts }]
  return parts.map((part): InputPart => {
    if (part.type === 'text') return part
    const { source } = part
    if (source.type === 'url') return { type: 'image', source: { url: source.url } }
    return { type: 'image', source: { mediaType: source.media_type, data: source.data } }
  })
}

/** Addendum to the system prompt that lists the skills of the client, for this request only. */
export function skillsPrompt({ client_skills }: SendBody): string | undefined {
  if (!client_skills || client_skills.length === 0) return undefined
  const each = client_skills.map(({ name, description, location }) =>
    [`- ${name}`, ...(description ? [`: ${description}`] : []), ...(location ? [` (${location})`] : [])].join(''),
  )
  return ['<available_skills>', ...each, '</available_skills>'].join('\n')
}

export const toClientTools = ({ client_tools }: SendBody): ClientTool[] | undefined =>
  client_tools?.map(({ name, description, parameters }) => ({
    name,
    description: description ?? '',
    inputSchema: parameters ?? { type: 'object', properties: {} },
  }))
