import type { Conversation } from '../../../core/agent.ts'
import { defined } from '../../../core/defined.ts'
import { type MessageId, type RunId, type StepId, stepOfAnswer } from '../../../core/id.ts'
import type { ImagePart } from '../../../core/image-part.ts'
import { systemMessageId } from '../../../core/memory-prompt.ts'
import {
  type ApprovalBody,
  type AssistantBody,
  type InputBody,
  type InputPart,
  type Message,
  NO_RUN,
  type SummaryBody,
  type ToolBody,
} from '../../../core/message.ts'
import type { Decision, ToolCall, ToolOutcome } from '../../../core/tool-call.ts'
import { wireDate } from '../../wire-date.ts'
import { type AssistantTool, IMPORTED_SPEECH, speechOf } from '../assistant-tool.ts'
import { approvalRequestId, sliceOtid } from '../slice-ids.ts'
import type {
  CommonFields,
  WireCall,
  WireCallPiece,
  WireContent,
  WireDecision,
  WireMessage,
  WireReturn,
} from './message-schema.ts'

export type { WireMessage } from './message-schema.ts'

/** A message of one kind. */
type OfType<T extends WireMessage['message_type']> = Extract<WireMessage, { message_type: T }>

export type Origin = { at: number; runId?: RunId; stepId?: StepId; seq?: number }

/** History as the client reads it, in order. `speaking`: the tool whose calls are shown as assistant messages. */
export function wireMessages(
  messages: readonly Message[],
  speaking: AssistantTool | 'none' = IMPORTED_SPEECH,
): WireMessage[] {
  const known: KnownCalls = new Map()
  return messages.flatMap((message) => {
    const { body } = message
    if (body.role === 'assistant')
      for (const call of body.calls)
        known.set(call.callId, { tool: call.tool, text: speechOf(call, message, speaking) })
    return slicesOf(message, known)
  })
}

/** Calls so far, by id; `text` is what one says that is shown as an assistant message. */
type KnownCalls = Map<string, { tool: string; text: string | undefined }>

function slicesOf(message: Message, known: KnownCalls): WireMessage[] {
  const { id, body, runId, stepId, createdAt } = message
  const origin: Origin = {
    at: createdAt,
    ...defined({ runId: runId === NO_RUN ? undefined : runId, stepId: stepId || undefined }),
  }
  switch (body.role) {
    case 'user':
    case 'system':
      return [inputSlice(id, body, origin)]
    case 'assistant':
      return answerSlices(id, { ...body, textOf: (callId) => known.get(callId)?.text }, origin)
    case 'tool':
      return resultSlices(id, resultsOf(body, known), origin)
    case 'approval':
      return [responseSlice(id, body, origin)]
    case 'summary':
      return [summarySlice(id, body, origin)]
  }
}

const commonFields = (id: string, { at, runId, stepId, seq }: Origin, otid: string | null): CommonFields => ({
  id,
  date: wireDate(at),
  name: null,
  otid,
  sender_id: null,
  step_id: stepId ?? null,
  is_err: null,
  seq_id: seq ?? null,
  run_id: runId ?? null,
})

function inputSlice(id: MessageId, { role, content, otid, name }: InputBody, origin: Origin): WireMessage {
  return {
    ...commonFields(id, origin, otid ?? sliceOtid(id, 0)),
    name: name ?? null,
    message_type: role === 'user' ? 'user_message' : 'system_message',
    content: wireContent(content),
  }
}

/** The system prompt, which is a message to clients. */
export function systemSlice({ id, createdAt }: Pick<Conversation, 'id' | 'createdAt'>, text: string): WireMessage {
  const body: InputBody = { role: 'system', content: [{ type: 'text', text }] }
  return inputSlice(systemMessageId(id), body, { at: createdAt })
}

function wireContent(content: readonly InputPart[]): WireContent {
  const [first, second] = content
  if (first?.type === 'text' && !second) return first.text
  return content.map((part) => {
    if (part.type === 'text') return { type: 'text', text: part.text, signature: null }
    const { source } = part
    if ('url' in source) return { type: 'image', source: { type: 'url', url: source.url } }
    const { mediaType, data } = source
    return { type: 'image', source: { type: 'base64', media_type: mediaType, data, detail: null } }
  })
}

/** The slices of an answer, each of one kind. Hidden reasoning comes first and has the last slice numbers. */
function answerSlices(
  id: MessageId,
  { content, calls, textOf }: AssistantBody & { textOf(callId: string): string | undefined },
  origin: Origin,
): WireMessage[] {
  const pieces: ContentPiece[] = []
  let hidden = 0
  for (const part of content) {
    if (part.type === 'encrypted-reasoning') continue
    if (part.type === 'redacted-reasoning') {
      hidden++
      continue
    }
    const last = pieces.at(-1)
    const signature = part.type === 'reasoning' ? part.signature : undefined
    if (last?.kind === part.type) last.text += part.text
    else pieces.push({ kind: part.type, text: part.text })
    if (signature) pieces.at(-1)!.signature = signature
  }
  const visible = pieces.filter(({ kind, text }) => (kind === 'text' ? text !== '' : text.trim() !== ''))
  const spoken = calls.flatMap(({ callId }): ContentPiece[] => {
    const text = textOf(callId)
    return text === undefined ? [] : [{ kind: 'text', text }]
  })
  const free = calls.filter((call) => !call.needsApproval && textOf(call.callId) === undefined)
  const guarded = calls.filter((call) => call.needsApproval)
  const said = [...visible, ...spoken]
  const slices: WireMessage[] = [
    ...said.map((piece, slice) => contentSlice(id, { ...piece, slice }, origin)),
    ...(free.length > 0 ? [callsSlice(id, { calls: free.map(wireCall), slice: said.length }, origin)] : []),
  ]
  const concealed = Array.from({ length: hidden }, (_, index) => hiddenSlice(id, slices.length + index, origin))
  const request = guarded.length > 0 ? [requestSlice(id, guarded.map(wireCall), origin)] : []
  return [...concealed, ...slices, ...request]
}

export type ContentPiece = { kind: 'text' | 'reasoning'; text: string; signature?: string }

export function contentSlice(
  id: MessageId,
  { kind, text, slice, signature }: ContentPiece & { slice: number },
  origin: Origin,
): OfType<'assistant_message' | 'reasoning_message'> {
  const fields = commonFields(id, origin, sliceOtid(id, slice))
  if (kind === 'text') return { ...fields, message_type: 'assistant_message', content: text }
  return {
    ...fields,
    message_type: 'reasoning_message',
    source: 'reasoner_model',
    reasoning: text,
    signature: signature ?? null,
  }
}

const hiddenSlice = (id: MessageId, slice: number, origin: Origin): WireMessage => ({
  ...commonFields(id, origin, sliceOtid(id, slice)),
  message_type: 'hidden_reasoning_message',
  state: 'redacted',
  hidden_reasoning: null,
})

const wireCall = ({ callId, tool, input }: ToolCall): WireCall => ({
  name: tool,
  arguments: JSON.stringify(input),
  tool_call_id: callId,
})

export const callsSlice = (
  id: MessageId,
  { calls, slice }: { calls: WireCall[]; slice: number },
  origin: Origin,
): OfType<'tool_call_message'> => ({
  ...commonFields(id, origin, sliceOtid(id, slice)),
  message_type: 'tool_call_message',
  tool_call: calls[0]!,
  tool_calls: calls,
})

export function requestSlice(
  answerId: MessageId,
  calls: WireCall[],
  origin: Origin,
): OfType<'approval_request_message'> {
  return {
    ...requestFields(answerId, origin),
    message_type: 'approval_request_message',
    tool_call: calls[0]!,
    tool_calls: calls,
  }
}

function requestFields(answerId: MessageId, origin: Origin): CommonFields {
  const id = approvalRequestId(answerId)
  return commonFields(id, { stepId: stepOfAnswer(answerId), ...origin }, id.slice('message-'.length))
}

export type PieceSlice = CommonFields & {
  message_type: 'tool_call_message' | 'approval_request_message'
  tool_call: WireCallPiece
  tool_calls: WireCallPiece
}

/** A piece of a call while the model writes it: part of the slice that the whole call will be. */
export function callPieceSlice(
  id: MessageId,
  { piece, place }: { piece: WireCallPiece; place: 'request' | { slice: number } },
  origin: Origin,
): PieceSlice {
  const calls = { tool_call: piece, tool_calls: piece }
  if (place === 'request') return { ...requestFields(id, origin), message_type: 'approval_request_message', ...calls }
  return { ...commonFields(id, origin, sliceOtid(id, place.slice)), message_type: 'tool_call_message', ...calls }
}

type WireResult = Pick<ToolOutcome, 'callId' | 'status' | 'output' | 'images' | 'stdout' | 'stderr'> & {
  tool: string | undefined
}

/** The success of a call that is shown as an assistant message says nothing; its failure does. */
const resultsOf = ({ outcomes }: ToolBody, known: KnownCalls): WireResult[] =>
  outcomes
    .filter(({ callId, status }) => status !== 'success' || known.get(callId)?.text === undefined)
    .map(({ spill: _, ...outcome }) => ({ ...outcome, tool: known.get(outcome.callId)?.tool }))

const resultSlices = (id: MessageId, results: WireResult[], origin: Origin): WireMessage[] =>
  results.length > 0 ? [returnSlice(id, results, origin)] : []

export function returnSlice(id: MessageId, results: WireResult[], origin: Origin): OfType<'tool_return_message'> {
  const first = results[0]!
  return {
    ...commonFields(id, origin, sliceOtid(id, 0)),
    name: first.tool ?? null,
    message_type: 'tool_return_message',
    tool_return: first.output,
    status: wireStatus(first),
    tool_call_id: first.callId,
    ...printed(first),
    tool_returns: results.map(wireReturn),
  }
}

const wireReturn = (result: WireResult): WireReturn => ({
  type: 'tool',
  tool_return: wireOutput(result.output, result.images),
  status: wireStatus(result),
  tool_call_id: result.callId,
  ...printed(result),
})

const printed = ({ stdout, stderr }: Pick<ToolOutcome, 'stdout' | 'stderr'>) => ({
  stdout: stdout ? [stdout] : null,
  stderr: stderr ? [stderr] : null,
})

const wireStatus = ({ status }: WireResult) => (status === 'success' ? 'success' : 'error')

/** Text, or a list of parts if there are images. */
const wireOutput = (output: string, images: readonly ImagePart[] = []): WireContent =>
  images.length === 0 ? output : wireContent([{ type: 'text', text: output }, ...images])

function responseSlice(
  id: MessageId,
  { decisions }: ApprovalBody,
  origin: Origin,
): OfType<'approval_response_message'> {
  const approvals = decisions.map(wireDecision)
  const word = decisions.find((decision) => decision.verdict !== 'result')
  return {
    ...commonFields(id, origin, sliceOtid(id, 0)),
    message_type: 'approval_response_message',
    approvals,
    approve: word ? word.verdict === 'approve' : null,
    approval_request_id: decisions[0]?.callId ?? null,
    reason: word?.verdict === 'deny' ? (word.reason ?? null) : null,
  }
}

function wireDecision(decision: Decision): WireDecision {
  const tool_call_id = decision.callId
  switch (decision.verdict) {
    case 'approve':
      return { type: 'approval', tool_call_id, approve: true, reason: null }
    case 'deny':
      return { type: 'approval', tool_call_id, approve: false, reason: decision.reason ?? null }
    case 'result':
      return {
        type: 'tool',
        tool_call_id,
        tool_return: wireOutput(decision.output, decision.images),
        status: decision.status,
        stdout: null,
        stderr: null,
      }
  }
}

const summarySlice = (id: MessageId, { text }: Pick<SummaryBody, 'text'>, origin: Origin): WireMessage => ({
  ...commonFields(id, origin, sliceOtid(id, 0)),
  message_type: 'summary_message',
  summary: text,
  compaction_stats: null,
})

/** The approval request of a waiting answer, for `pending_approval` of an agent. */
export const pendingRequest = (message: Message): OfType<'approval_request_message'> | undefined =>
  wireMessages([message]).find((slice) => slice.message_type === 'approval_request_message')

/** A filter by type. It applies to messages only: events about the stream itself always pass. */
export const ofTypes = (types: readonly string[] | undefined) => (message: { message_type: string }) =>
  !types || types.includes(message.message_type)
