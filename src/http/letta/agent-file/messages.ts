import { z } from 'zod'
import { defined } from '../../../core/defined.ts'
import type { ImagePart } from '../../../core/image-part.ts'
import type { Json } from '../../../core/json.ts'
import {
  type AnswerPart,
  type AssistantBody,
  type InputPart,
  type Message,
  type MessageBody,
  type ToolBody,
  textOf,
} from '../../../core/message.ts'
import { type Decision, settle, type ToolCall, type ToolOutcome } from '../../../core/tool-call.ts'
import { json } from '../../field.ts'

/** A message in an agent file. Unknown fields are ignored. */
export const fileMessage = z.looseObject({
  id: z.string().nullish(),
  role: z.enum(['system', 'user', 'assistant', 'tool', 'approval', 'summary', 'function']),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).nullish(),
  name: z.string().nullish(),
  otid: z.string().nullish(),
  tool_calls: z
    .array(z.looseObject({ id: z.string(), function: z.looseObject({ name: z.string(), arguments: z.string() }) }))
    .nullish(),
  tool_call_id: z.string().nullish(),
  tool_returns: z
    .array(z.looseObject({ tool_call_id: z.string().nullish(), status: z.string().nullish(), func_response: json }))
    .nullish(),
  approvals: z.array(z.looseObject({})).nullish(),
  created_at: z.string().nullish(),
})

export type FileMessage = z.output<typeof fileMessage>

export type ReadMessage = { body: MessageBody; createdAt?: number }

/**
 * Converts the messages of a file to a history that every model accepts: each call is followed by its results, and
 * results whose call is not in the file become system messages.
 */
export function readMessages(messages: readonly FileMessage[]): ReadMessage[] {
  const read: ReadMessage[] = []
  let open: { answer: AssistantBody; outcomes: ToolOutcome[]; at: object } | undefined
  const close = () => {
    if (open) read.push({ body: resultsOf(open.answer, open.outcomes), ...open.at })
    open = undefined
  }
  for (const message of messages) {
    const at = timeOf(message)
    const body = toBody(message)
    if (body.role === 'tool' && open) {
      for (const outcome of body.outcomes) open.outcomes.push(outcome)
      open.at = at
    } else if (body.role === 'tool') {
      const text = body.outcomes.map(({ output }) => output).join('\n')
      read.push({ body: { role: 'system', content: [{ type: 'text', text }] }, ...at })
    } else if (body.role === 'approval') {
      if (open && body.decisions.length > 0) read.push({ body, ...at })
    } else {
      // An approval request follows the calls that needed no approval: together they are one answer.
      const isRequest = message.role === 'approval' && body.role === 'assistant'
      if (isRequest && open && open.outcomes.length === 0) for (const call of body.calls) open.answer.calls.push(call)
      else {
        close()
        if (isEmpty(body)) continue
        read.push({ body, ...at })
        if (body.role === 'assistant' && body.calls.length > 0) open = { answer: body, outcomes: [], at }
      }
    }
  }
  close()
  return read
}

const isEmpty = (body: MessageBody): boolean => {
  if (body.role === 'assistant') return body.content.length === 0 && body.calls.length === 0
  return (body.role === 'user' || body.role === 'system') && body.content.length === 0
}

function timeOf({ created_at }: FileMessage): { createdAt?: number } {
  const at = created_at ? Date.parse(created_at) : Number.NaN
  return Number.isNaN(at) ? {} : { createdAt: at }
}

function resultsOf({ calls }: AssistantBody, outcomes: readonly ToolOutcome[]): ToolBody {
  // Of two results for one call the first counts.
  const byCall = new Map(outcomes.toReversed().map((outcome) => [outcome.callId, outcome]))
  return { role: 'tool', outcomes: calls.map(({ callId }) => byCall.get(callId) ?? settle(callId, 'lost')) }
}

function toBody(message: FileMessage): MessageBody {
  const { role, name, otid } = message
  switch (role) {
    case 'user':
    case 'system':
      return { role, content: inputParts(message), ...defined({ otid: otid || undefined, name: name || undefined }) }
    case 'assistant':
      return { role, content: answerParts(message), calls: callsOf(message) }
    case 'summary':
      return { role, text: unpackMessage(textOf(inputParts(message))), replaces: { from: 0, to: 0 } }
    case 'approval': {
      const calls = callsOf(message)
      if (calls.length > 0) return { role: 'assistant', content: answerParts(message), calls }
      return { role: 'approval', decisions: decisionsOf(message) }
    }
    case 'tool':
    case 'function':
      return { role: 'tool', outcomes: outcomesOf(message) }
  }
}

type FilePart = { type: string; [field: string]: unknown }

const partsIn = ({ content }: Pick<FileMessage, 'content'>): FilePart[] => {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return (content ?? []) as FilePart[]
}

const textOrEmpty = (value: unknown): string => (typeof value === 'string' ? value.replaceAll('\0', '') : '')

/** The content of an input, as the API and agent files have it: text, or a list of parts. */
export const importedInput = (content: unknown): InputPart[] => {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return Array.isArray(parts) ? inputParts({ role: 'user', content: parts.filter(isPart) }) : []
}

/** The same of a result, which may be any JSON. */
export const importedParts = (content: unknown): InputPart[] =>
  typeof content === 'string' || Array.isArray(content)
    ? importedInput(content)
    : importedInput(content === null || content === undefined ? '' : JSON.stringify(content))

const isPart = (part: unknown): part is FilePart =>
  part !== null && typeof part === 'object' && typeof (part as FilePart).type === 'string'

const inputParts = (message: Pick<FileMessage, 'role' | 'content'>): InputPart[] =>
  partsIn(message).flatMap((part): InputPart[] => {
    if (part.type === 'image') return imageOf(part)
    const text = textOrEmpty(part.text)
    return text === '' ? [] : [{ type: 'text', text }]
  })

function imageOf(part: FilePart): ImagePart[] {
  const source = (part.source ?? {}) as Record<string, unknown>
  if (typeof source.data === 'string' && typeof source.media_type === 'string')
    return [{ type: 'image', source: { mediaType: source.media_type, data: source.data } }]
  return typeof source.url === 'string' ? [{ type: 'image', source: { url: source.url } }] : []
}

/** Reasoning is imported as text: a vendor signature is not valid on another server. */
const answerParts = (message: FileMessage): AnswerPart[] =>
  partsIn(message).flatMap((part): AnswerPart[] => {
    if (part.type === 'reasoning')
      return textOrEmpty(part.reasoning) ? [{ type: 'reasoning', text: textOrEmpty(part.reasoning) }] : []
    const text = part.type === 'text' ? textOrEmpty(part.text) : ''
    return text === '' ? [] : [{ type: 'text', text }]
  })

const callsOf = ({ tool_calls }: FileMessage): ToolCall[] =>
  (tool_calls ?? []).map(({ id, function: called }) => ({
    callId: id,
    tool: called.name,
    input: inputOf(called.arguments),
    digest: '',
    needsApproval: false,
    effects: 'once',
    parallel: false,
  }))

function inputOf(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    // Models sometimes write invalid JSON; it is kept as text.
    return { arguments: text }
  }
}

function outcomesOf(message: FileMessage): ToolOutcome[] {
  const returns = message.tool_returns ?? []
  if (returns.length === 0) {
    const output = unpackMessage(textOf(inputParts(message)))
    return [{ callId: message.tool_call_id ?? '', status: 'success', output }]
  }
  return returns.map(({ tool_call_id, status, func_response }) => {
    const callId = tool_call_id ?? message.tool_call_id ?? ''
    const isText = typeof func_response === 'string' || !Array.isArray(func_response)
    const parts = isText ? [] : inputParts({ role: 'user', content: func_response as FilePart[] })
    const text =
      typeof func_response === 'string' ? func_response : isText ? JSON.stringify(func_response) : textOf(parts)
    const images = parts.filter((part) => part.type === 'image')
    return {
      callId,
      status: status === 'error' ? 'error' : 'success',
      output: unpackMessage(text ?? ''),
      ...defined({ images: images.length > 0 ? images : undefined }),
    }
  })
}

/** The original server wrapped results and summaries in JSON with a time; this returns the message in it. */
export function unpackMessage(text: string): string {
  if (!text.startsWith('{')) return text
  try {
    const { message } = JSON.parse(text) as { message?: unknown }
    return typeof message === 'string' ? message : text
  } catch {
    return text
  }
}

const decisionsOf = ({ approvals }: FileMessage): Decision[] =>
  ((approvals ?? []) as Record<string, unknown>[]).flatMap((one): Decision[] => {
    const callId = textOrEmpty(one.tool_call_id)
    if (callId === '') return []
    if (one.approve === true) return [{ callId, verdict: 'approve', digest: '' }]
    if (one.approve === false)
      return [{ callId, verdict: 'deny', ...defined({ reason: one.reason ? textOrEmpty(one.reason) : undefined }) }]
    const status = one.status === 'error' ? 'error' : 'success'
    return [{ callId, verdict: 'result', status, output: textOrEmpty(one.tool_return) }]
  })

/** Encodes a message for an agent file. */
export function encodeMessage(message: Pick<Message, 'body' | 'createdAt'>, id: string) {
  const { body, createdAt } = message
  const fields = { type: 'message', id, agent_id: null, model: null, name: null, otid: null, sender_id: null }
  const rest = { group_id: null, batch_item_id: null, created_at: new Date(createdAt).toISOString() }
  const none = { tool_calls: null, tool_call_id: null, tool_returns: [], approvals: [] }
  const base = { ...fields, ...none, ...rest, approve: null, approval_request_id: null, denial_reason: null }
  switch (body.role) {
    case 'user':
    case 'system':
      return { ...base, ...encodeInput(body) }
    case 'assistant':
      return {
        ...base,
        role: 'assistant',
        content: body.content.flatMap(encodeAnswerPart),
        tool_calls: body.calls.length > 0 ? body.calls.map(encodeCall) : null,
      }
    case 'tool':
      return {
        ...base,
        role: 'tool',
        content: [{ type: 'text', text: body.outcomes[0]?.output ?? '', signature: null }],
        tool_call_id: body.outcomes[0]?.callId ?? null,
        tool_returns: body.outcomes.map(encodeOutcome),
      }
    case 'approval':
      return { ...base, role: 'approval', content: [], approvals: body.decisions.map(encodeDecision) }
    case 'summary':
      return { ...base, role: 'summary', content: [{ type: 'text', text: body.text, signature: null }] }
  }
}

const encodeInput = ({ role, content, otid, name }: Extract<MessageBody, { role: 'user' | 'system' }>) => ({
  role,
  content: content.map(encodeInputPart),
  otid: otid ?? null,
  name: name ?? null,
})

function encodeInputPart(part: InputPart) {
  if (part.type === 'text') return { type: 'text', text: part.text, signature: null }
  const { source } = part
  if ('url' in source) return { type: 'image', source: { type: 'url', url: source.url } }
  return { type: 'image', source: { type: 'base64', media_type: source.mediaType, data: source.data, detail: null } }
}

function encodeAnswerPart(part: AnswerPart): object[] {
  if (part.type === 'text') return [{ type: 'text', text: part.text, signature: null }]
  if (part.type === 'reasoning') return [{ type: 'reasoning', is_native: true, reasoning: part.text, signature: null }]
  return []
}

const encodeCall = ({ callId, tool, input }: ToolCall) => ({
  id: callId,
  function: { name: tool, arguments: JSON.stringify(input) },
  type: 'function',
})

const encodeOutcome = ({ callId, status, output, images, stdout, stderr }: ToolOutcome) => ({
  tool_call_id: callId,
  status: status === 'success' ? 'success' : 'error',
  stdout: stdout ? [stdout] : null,
  stderr: stderr ? [stderr] : null,
  func_response: images ? [{ type: 'text' as const, text: output }, ...images].map(encodeInputPart) : output,
})

function encodeDecision(decision: Decision) {
  const tool_call_id = decision.callId
  if (decision.verdict === 'result')
    return { type: 'tool', tool_call_id, tool_return: decision.output, status: decision.status }
  const reason = decision.verdict === 'deny' ? (decision.reason ?? null) : null
  return { type: 'approval', tool_call_id, approve: decision.verdict === 'approve', reason }
}
