import { defined } from '../../../core/defined.ts'
import { parseId } from '../../../core/id.ts'
import type { Json } from '../../../core/json.ts'
import type { AnswerPart, AssistantBody, MessageBody } from '../../../core/message.ts'
import { type Decision, settle, type ToolCall, type ToolOutcome } from '../../../core/tool-call.ts'
import type { SourceMessage } from '../../../ports/import-source.ts'
import { importedInput, importedParts, unpackMessage } from '../agent-file/messages.ts'
import { answerOfRequest, sliceOtid } from '../slice-ids.ts'
import type { Listed } from './pages.ts'

/** What a piece of a history becomes. */
type AssembledItem =
  | { type: 'messages'; messages: SourceMessage[]; isClosed: boolean }
  | { type: 'left-out'; id: string; reason: string }

type Stored = { id: string; slices: Listed[] }
type OpenAnswer = { answer: SourceMessage & { body: AssistantBody }; approvals: SourceMessage[]; results: Result[] }
type Result = { id: string; createdAt: number; outcomes: ToolOutcome[] }

const SYSTEM_PROMPT = 'The system prompt is compiled here.'

/**
 * Puts the messages of a history together again: the API of the old server shows a stored message in slices. Each answer
 * leaves with the results of its calls. `promptId` is the system prompt, which is compiled here.
 */
export function newAssembler({ promptId, summaryId }: { promptId: string | undefined; summaryId: string | undefined }) {
  let current: Stored | undefined
  let open: OpenAnswer | undefined
  let isFirst = true
  /** Messages of the page before. */
  let before: ReadonlySet<string> = new Set()
  let out: AssembledItem[] = []

  const emit = (messages: SourceMessage[], isClosed = true) => void out.push({ type: 'messages', messages, isClosed })
  const leaveOut = (id: string, reason: string) => void out.push({ type: 'left-out', id, reason })

  function push(slice: Listed): void {
    const id = storedIdOf(slice)
    if (current?.id === id) {
      // A page that is repeated brings the same slices again.
      if (!current.slices.some((one) => isSameSlice(one, slice))) current.slices.push(slice)
      return
    }
    settleCurrent()
    current = { id, slices: [slice] }
  }

  function settleCurrent(): void {
    if (!current) return
    const { id, slices } = current
    current = undefined
    const [first] = slices as [Listed]
    const createdAt = timeOf(first)
    const wasFirst = isFirst
    isFirst = false
    switch (first.message_type) {
      case 'system_message':
        if (id === promptId || (wasFirst && promptId === undefined)) {
          leaveOut(id, SYSTEM_PROMPT)
          return
        }
        takeInput({ id, createdAt, slice: first, role: 'system' })
        return
      case 'user_message':
        takeInput({ id, createdAt, slice: first, role: 'user' })
        return
      case 'summary_message':
        takeSummary({ id, createdAt, text: textIn(first.summary) })
        return
      case 'tool_return_message':
        takeResults({ id, createdAt, outcomes: slices.flatMap(outcomesIn) })
        return
      case 'approval_response_message':
        takeApproval({ id, createdAt, decisions: slices.flatMap(decisionsIn) })
        return
      case 'assistant_message':
      case 'reasoning_message':
      case 'hidden_reasoning_message':
      case 'tool_call_message':
      case 'approval_request_message':
        takeAnswer({ id, createdAt, slices })
        return
      default:
        leaveOut(id, `Messages of type ${String(first.message_type).slice(0, 60)} are not part of a history here.`)
        return
    }
  }

  type InputSlice = { id: string; createdAt: number; slice: Listed; role: 'user' | 'system' }

  function takeInput({ id, createdAt, slice, role }: InputSlice): void {
    const packed = id === summaryId ? packedSummary(slice.content) : undefined
    if (packed !== undefined) {
      takeSummary({ id, createdAt, text: packed })
      return
    }
    const content = importedInput(slice.content)
    if (content.length === 0) {
      leaveOut(id, 'It is empty.')
      return
    }
    closeOpen()
    const body: MessageBody = {
      role,
      content,
      ...defined({
        otid: otidOf(slice, id),
        name: typeof slice.name === 'string' && slice.name ? slice.name : undefined,
      }),
    }
    emit([{ id, body, createdAt }])
  }

  function takeSummary({ id, createdAt, text }: { id: string; createdAt: number; text: string }): void {
    closeOpen()
    emit([{ id, createdAt, body: { role: 'summary', text, replaces: { from: 0, to: 0 } } }])
  }

  function takeAnswer({ id, createdAt, slices }: Stored & { createdAt: number }): void {
    closeOpen()
    const body: AssistantBody = {
      role: 'assistant',
      content: slices.flatMap(contentIn),
      calls: slices.flatMap(callsIn),
    }
    if (body.content.length === 0 && body.calls.length === 0) {
      leaveOut(id, 'It is empty.')
      return
    }
    if (body.calls.length === 0) {
      emit([{ id, body, createdAt }])
      return
    }
    open = { answer: { id, body, createdAt }, approvals: [], results: [] }
  }

  function takeResults(result: Result): void {
    const calls = open?.answer.body.calls ?? []
    const isAnswer = result.outcomes.some(({ callId }) => calls.some((call) => call.callId === callId))
    if (!open || !isAnswer) {
      const content = importedInput(result.outcomes.map(({ output }) => output).join('\n'))
      if (content.length === 0) {
        leaveOut(result.id, 'It is an empty result of a call that is not in the history.')
        return
      }
      closeOpen()
      emit([{ id: result.id, createdAt: result.createdAt, body: { role: 'system', content } }])
      return
    }
    open.results.push(result)
    const settled = new Set(open.results.flatMap(({ outcomes }) => outcomes.map(({ callId }) => callId)))
    if (calls.every(({ callId }) => settled.has(callId))) closeOpen()
  }

  function takeApproval({ id, createdAt, decisions }: { id: string; createdAt: number; decisions: Decision[] }): void {
    if (!open || decisions.length === 0) {
      leaveOut(id, 'No call in the history waits for this answer.')
      return
    }
    open.approvals.push({ id, createdAt, body: { role: 'approval', decisions } })
  }

  /** Calls without a result get one that says so. */
  function closeOpen(isEnd = false): void {
    if (!open) return
    const { answer, approvals, results } = open
    open = undefined
    const outcomes = new Map(
      results
        .flatMap((result) => result.outcomes)
        .toReversed()
        .map((one) => [one.callId, one]),
    )
    const [first, ...others] = results
    const isAnswered = answer.body.calls.every(({ callId }) => outcomes.has(callId))
    const tool: SourceMessage = {
      id: first?.id ?? '',
      createdAt: (results.at(-1) ?? approvals.at(-1) ?? answer).createdAt,
      body: {
        role: 'tool',
        outcomes: answer.body.calls.map(({ callId }) => outcomes.get(callId) ?? settle(callId, 'lost')),
      },
      ...defined({ alsoIds: others.length > 0 ? others.map(({ id }) => id) : undefined }),
    }
    emit([answer, ...approvals, tool], isAnswered || !isEnd)
  }

  const taken = (): AssembledItem[] => {
    const items = out
    out = []
    return items
  }

  return {
    /** The complete items after these slices. */
    take(slices: readonly Listed[]): AssembledItem[] {
      const ids = new Set<string>()
      for (const slice of slices) {
        const id = storedIdOf(slice)
        ids.add(id)
        // Pages may overlap. A message that comes again in between would end the answer that is open.
        if (id === current?.id || !before.has(id)) push(slice)
      }
      before = ids
      return taken()
    },
    /** What is left at the end of the history. */
    end(): AssembledItem[] {
      settleCurrent()
      closeOpen(true)
      return taken()
    },
  }
}

/** An approval request is stored with its answer, whose id is one above. */
function storedIdOf({ id, message_type }: Listed): string {
  const isRequest = message_type === 'approval_request_message'
  const parsed = isRequest ? parseId('message', id) : undefined
  return parsed ? answerOfRequest(parsed) : id
}

const isSameSlice = (one: Listed, other: Listed): boolean =>
  one.message_type === other.message_type && (one.otid ?? '') === (other.otid ?? '') && sameText(one, other)

const sameText = (one: Listed, other: Listed): boolean => JSON.stringify(one) === JSON.stringify(other)

const timeOf = ({ date }: Listed): number => {
  const at = typeof date === 'string' ? Date.parse(date) : Number.NaN
  return Number.isNaN(at) ? 0 : at
}

const textIn = (value: unknown): string => (typeof value === 'string' ? value.replaceAll('\0', '') : '')

/** Clients see the otid of a slice; only one that a client chose itself is stored. */
function otidOf({ otid }: Listed, id: string): string | undefined {
  const parsed = parseId('message', id)
  if (typeof otid !== 'string' || otid === '' || (parsed && otid === sliceOtid(parsed, 0))) return undefined
  return otid
}

/** A summary is stored as a message of the user that holds JSON, unless the request asked for summary messages. */
function packedSummary(content: unknown): string | undefined {
  const text = typeof content === 'string' ? content : undefined
  if (!text?.startsWith('{')) return undefined
  const unpacked = unpackMessage(text)
  return unpacked === text ? undefined : unpacked
}

function contentIn(slice: Listed): AnswerPart[] {
  switch (slice.message_type) {
    case 'assistant_message':
      return importedParts(slice.content).flatMap((part): AnswerPart[] => (part.type === 'text' ? [part] : []))
    case 'reasoning_message': {
      const text = textIn(slice.reasoning)
      return text === '' ? [] : [{ type: 'reasoning', text }]
    }
    case 'hidden_reasoning_message':
      return [{ type: 'redacted-reasoning', data: textIn(slice.hidden_reasoning) }]
    default:
      return []
  }
}

type WireCall = { name?: unknown; arguments?: unknown; tool_call_id?: unknown }

function callsIn(slice: Listed): ToolCall[] {
  if (slice.message_type !== 'tool_call_message' && slice.message_type !== 'approval_request_message') return []
  const several = Array.isArray(slice.tool_calls) ? slice.tool_calls : []
  const calls = (several.length > 0 ? several : [slice.tool_call]) as (WireCall | null | undefined)[]
  return calls.flatMap((call): ToolCall[] => {
    if (typeof call?.name !== 'string' || typeof call.tool_call_id !== 'string') return []
    return [
      {
        callId: call.tool_call_id,
        tool: call.name,
        input: inputOf(textIn(call.arguments)),
        digest: '',
        needsApproval: slice.message_type === 'approval_request_message',
        effects: 'once',
        parallel: false,
      },
    ]
  })
}

function inputOf(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    // Models sometimes write invalid JSON; it is kept as text.
    return { arguments: text }
  }
}

type WireReturn = { tool_call_id?: unknown; tool_return?: unknown; status?: unknown }

function outcomesIn(slice: Listed): ToolOutcome[] {
  const several = Array.isArray(slice.tool_returns) ? (slice.tool_returns as WireReturn[]) : []
  const returns = several.length > 0 ? several : [slice as WireReturn]
  return returns.flatMap((one): ToolOutcome[] => {
    if (typeof one.tool_call_id !== 'string') return []
    const parts = importedParts(one.tool_return)
    const images = parts.filter((part) => part.type === 'image')
    const output = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
    return [
      {
        callId: one.tool_call_id,
        status: one.status === 'error' ? 'error' : 'success',
        output: unpackMessage(output),
        ...defined({ images: images.length > 0 ? images : undefined }),
      },
    ]
  })
}

function decisionsIn({ approvals, approve, approval_request_id, reason }: Listed): Decision[] {
  const several = (Array.isArray(approvals) ? approvals : []) as Record<string, unknown>[]
  const older: Record<string, unknown>[] =
    typeof approve === 'boolean' ? [{ tool_call_id: approval_request_id, approve, reason }] : []
  return (several.length > 0 ? several : older).flatMap((one): Decision[] => {
    const callId = textIn(one.tool_call_id)
    if (callId === '') return []
    if (one.approve === true) return [{ callId, verdict: 'approve', digest: '' }]
    const why = textIn(one.reason)
    if (one.approve === false) return [{ callId, verdict: 'deny', ...defined({ reason: why || undefined }) }]
    const status = one.status === 'error' ? 'error' : 'success'
    const output = importedParts(one.tool_return)
      .flatMap((part) => (part.type === 'text' ? [part.text] : []))
      .join('')
    return [{ callId, verdict: 'result', status, output }]
  })
}
