import { type Chunk, type NumberedChunk, spokenText, type WireCall } from '../../core/chunk.ts'
import { defined } from '../../core/defined.ts'
import { type MessageId, type RunId, stepOfAnswer } from '../../core/id.ts'
import { wireDate } from '../wire-date.ts'
import { sliceOtid } from './slice-ids.ts'
import {
  type ContentPiece,
  callPieceSlice,
  callsSlice,
  contentSlice,
  type Origin,
  type PieceSlice,
  requestSlice,
  returnSlice,
} from './wire/message.ts'
import type { WireStreamEvent } from './wire/stream-event.ts'
import { wireUsage } from './wire/usage.ts'

/** One event for the client. The official client skips named events, except `error`. */
export type StreamEvent = {
  seq: number
  /** Terminal events are sent also to a reader that resumes at a number that the stream never had. */
  isTerminal: boolean
  name?: string
  data: WireStreamEvent & Record<string, unknown>
}

export type ViewOptions = {
  runId: RunId
  /** `steps` sends whole messages; `tokens` sends pieces as they arrive. */
  detail: 'tokens' | 'steps'
  /** Calls of the run that this one continues; this stream has only their results. */
  inherited?: { answerId: MessageId; calls: StepCall[] }
  /** When the run was accepted: the date of chunks that were stored without one. */
  createdAt: number
}

/** `isSpeech`: it is shown as an assistant message, without its result. */
type StepCall = { callId: string; tool: string; isSpeech?: true }

/** Sent as they are. */
type NamedChunk = Extract<Chunk, { message_type: 'message_reset' | 'attempt_failed' | 'tool_progress' | 'worker_lost' }>

/** Converts the chunks of a run to events for the client. It must get the chunks from the first one on. */
export function newStreamView(options: ViewOptions): { take(chunk: NumberedChunk): StreamEvent[] | 'done' } {
  const { runId, detail, inherited } = options
  let answerId = inherited?.answerId
  let calls: StepCall[] = inherited?.calls ?? []
  /** The first pieces of calls whose arguments are sent in pieces, by call id. */
  let streamedCalls = new Map<string, PieceSlice>()
  let slice = -1
  let kind: ContentPiece['kind'] | undefined
  /** Reasoning that is only blank so far: sent with its first visible text, or never. */
  let blankReasoning = ''
  let pending: { piece: ContentPiece; seq: number; at: number } | undefined
  /** The first event of this slice, used as a template: the others differ in three fields. */
  let template: ReturnType<typeof contentSlice> | undefined
  let returns: Extract<Chunk, { message_type: 'tool_return_message' }>[] = []
  let stopReason: string | undefined
  let saidAt = options.createdAt

  const origin = (seq: number, at = saidAt): Origin => ({
    at,
    runId,
    seq,
    ...defined({ stepId: answerId ? stepOfAnswer(answerId) : undefined }),
  })
  const event = (seq: number, data: StreamEvent['data'], name?: string): StreamEvent => ({
    seq,
    data,
    isTerminal: false,
    ...defined({ name: name || undefined }),
  })

  /** Starts another answer, whose slices are counted from 0. */
  function startAnswer(id: MessageId): void {
    if (id === answerId) return
    answerId = id
    calls = []
    streamedCalls = new Map()
    slice = -1
    kind = undefined
    blankReasoning = ''
  }

  function flush(): StreamEvent[] {
    if (!pending || !answerId) return []
    const { piece, seq, at } = pending
    pending = undefined
    return [event(seq, contentSlice(answerId, { ...piece, slice }, origin(seq, at)))]
  }

  function content(id: MessageId, piece: ContentPiece, seq: number): StreamEvent[] {
    const before = id === answerId && piece.kind === kind ? [] : flush()
    startAnswer(id)
    if (piece.text === '') return before
    if (piece.kind !== kind) {
      const text = piece.kind === 'reasoning' ? blankReasoning + piece.text : piece.text
      if (piece.kind === 'reasoning' && text.trim() === '') {
        blankReasoning = text
        return before
      }
      kind = piece.kind
      slice++
      template = undefined
      blankReasoning = ''
      return [...before, ...emit({ ...piece, text }, seq)]
    }
    return [...before, ...emit(piece, seq)]
  }

  function emit(piece: ContentPiece, seq: number): StreamEvent[] {
    if (detail === 'tokens') return [event(seq, pieceOf(piece, seq))]
    pending = { piece: { ...piece, text: (pending?.piece.text ?? '') + piece.text }, seq, at: saidAt }
    return []
  }

  function pieceOf(piece: ContentPiece, seq: number): StreamEvent['data'] {
    template ??= contentSlice(answerId!, { ...piece, slice }, origin(seq))
    const date = wireDate(saidAt)
    if (template.message_type === 'assistant_message') return { ...template, date, seq_id: seq, content: piece.text }
    return { ...template, date, seq_id: seq, reasoning: piece.text }
  }

  function callPiece(chunk: Extract<Chunk, { message_type: 'tool_call_delta' }>, seq: number): StreamEvent[] {
    const { id, tool_call_id, name, arguments: text, needs_approval: guard } = chunk
    startAnswer(id)
    const first = streamedCalls.get(tool_call_id)
    const piece = { name: name ?? null, arguments: text, tool_call_id }
    if (first)
      return [event(seq, { ...first, date: wireDate(saidAt), seq_id: seq, tool_call: piece, tool_calls: piece })]
    const place = guard ? 'request' : { slice: slice + 1 }
    const begun = callPieceSlice(id, { piece, place }, origin(seq))
    streamedCalls.set(tool_call_id, begun)
    return [event(seq, begun)]
  }

  function result(chunk: Extract<Chunk, { message_type: 'tool_return_message' }>, seq: number): StreamEvent[] {
    returns.push(chunk)
    const byCall = new Map(returns.map((one) => [one.tool_return.tool_call_id, one]))
    // The results of a step are one message in the order of its calls, so they are sent when the last one arrives.
    if (!calls.every(({ callId }) => byCall.has(callId))) return []
    const ordered = calls.length > 0 ? calls.map(({ callId }) => byCall.get(callId)!) : returns
    returns = []
    const hidden = new Set(calls.flatMap(({ callId, isSpeech }) => (isSpeech ? [callId] : [])))
    const shown = ordered.filter(
      ({ tool_return: { tool_call_id, status } }) => status !== 'success' || !hidden.has(tool_call_id),
    )
    if (shown.length === 0) return []
    const results = shown.map(({ name, tool_return: { tool_call_id, tool_return, ...others } }) => ({
      ...others,
      callId: tool_call_id,
      output: tool_return,
      tool: name || undefined,
    }))
    return [event(seq, returnSlice(chunk.id, results, origin(seq)))]
  }

  const named = (chunk: NamedChunk, seq: number): StreamEvent[] => [
    ...flush(),
    event(seq, { ...chunk, run_id: runId, seq_id: seq }, chunk.message_type),
  ]

  function toEvents(chunk: Chunk, seq: number): StreamEvent[] {
    switch (chunk.message_type) {
      case 'assistant_message':
        return content(chunk.id, { kind: 'text', text: chunk.content }, seq)
      case 'reasoning_message':
        return content(chunk.id, { kind: 'reasoning', text: chunk.reasoning }, seq)
      case 'tool_call_delta':
        return detail === 'tokens' ? callPiece(chunk, seq) : []
      case 'tool_call_message':
      case 'approval_request_message': {
        const before = flush()
        startAnswer(chunk.id)
        calls = [...calls, ...chunk.tool_calls.map(stepCallOf)]
        const speech = spokenText(chunk.tool_calls)
        if (speech !== undefined) {
          slice++
          kind = undefined
          return [...before, event(seq, contentSlice(chunk.id, { kind: 'text', text: speech, slice }, origin(seq)))]
        }
        const wire = chunk.tool_calls
          .filter(({ tool_call_id }) => !streamedCalls.has(tool_call_id))
          .map(({ name, arguments: text, tool_call_id }) => ({ name, arguments: text, tool_call_id }))
        if (wire.length === 0) return before
        if (chunk.message_type === 'approval_request_message')
          return [...before, event(seq, requestSlice(chunk.id, wire, origin(seq)))]
        return [...before, event(seq, callsSlice(chunk.id, { calls: wire, slice: slice + 1 }, origin(seq)))]
      }
      case 'tool_return_message':
        return [...flush(), ...result(chunk, seq)]
      case 'stop_reason':
        stopReason = chunk.stop_reason
        return [...flush(), { ...event(seq, { ...chunk, run_id: runId, seq_id: seq }), isTerminal: true }]
      case 'error_message': {
        // A truncated answer is not an error to the client: the stop reason says that it is incomplete.
        if (stopReason === 'max_tokens_exceeded') return []
        const { message_type, error_type, message, detail: why } = chunk
        const data = { message_type, run_id: runId, error_type, message, detail: why, seq_id: seq }
        return [{ ...event(seq, data, 'error'), isTerminal: true }]
      }
      case 'usage_statistics':
        return [{ ...event(seq, { ...wireUsage(chunk, runId), run_id: runId, seq_id: seq }), isTerminal: true }]
      case 'summary_message': {
        const otid = sliceOtid(chunk.id, 0)
        const data = { ...chunk, otid, run_id: runId, seq_id: seq, compaction_stats: null }
        return [...flush(), event(seq, data, 'summary_message')]
      }
      case 'message_reset':
        streamedCalls = new Map()
        return named(chunk, seq)
      case 'attempt_failed':
      case 'tool_progress':
      case 'worker_lost':
        return named(chunk, seq)
      case 'done':
        return flush()
    }
  }

  return {
    take({ number, at, chunk }) {
      saidAt = at ?? options.createdAt
      return chunk.message_type === 'done' ? 'done' : toEvents(chunk, number)
    },
  }
}

const stepCallOf = ({ tool_call_id: callId, name: tool, is_speech: isSpeech }: WireCall): StepCall => ({
  callId,
  tool,
  ...defined({ isSpeech }),
})
