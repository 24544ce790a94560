import type { Chunk, NumberedChunk } from '../../core/chunk.ts'
import { defined } from '../../core/defined.ts'
import { type MessageId, type RunId, stepOfAnswer } from '../../core/id.ts'
import { wireDate } from '../wire-date.ts'
import { sliceOtid } from './slice-ids.ts'
import { type ContentPiece, callsSlice, contentSlice, type Origin, requestSlice, returnSlice } from './wire/message.ts'
import type { WireStreamEvent } from './wire/stream-event.ts'
import { wireUsage } from './wire/usage.ts'

/** One event for the client. A named one is ours and skipped by it, `error` excepted. */
export type StreamEvent = {
  seq: number
  /** What ends a stream is told to whoever asks, also past its end. */
  isTerminal: boolean
  name?: string
  data: WireStreamEvent & Record<string, unknown>
}

export type ViewOptions = {
  runId: RunId
  /** `steps` tells whole messages; `tokens` tells pieces as they came. */
  detail: 'tokens' | 'steps'
  /** The calls a continuing run inherits; their results come without the calls. */
  inherited?: { answerId: MessageId; calls: { callId: string; tool: string }[] }
  now(): number
}

/** The stream of a run in the client's words. It must be shown the stream from its beginning. */
export function newStreamView(options: ViewOptions): { take(chunk: NumberedChunk): StreamEvent[] | 'done' } {
  const { runId, detail, inherited } = options
  let answerId = inherited?.answerId
  let calls = (inherited?.calls ?? []).map(({ callId, tool }) => ({ callId, tool }))
  let slice = -1
  let kind: ContentPiece['kind'] | undefined
  /** Thought that is only blank so far: it is told with its first word, or never. */
  let blank = ''
  let held: { piece: ContentPiece; seq: number } | undefined
  /** The first piece of this slice as it was told: the others differ in three words. */
  let like: ReturnType<typeof contentSlice> | undefined
  let returns: Extract<Chunk, { message_type: 'tool_return_message' }>[] = []
  let stopReason: string | undefined

  const origin = (seq: number): Origin => ({
    at: options.now(),
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

  /** Another answer begins: its slices are counted anew. */
  function turnTo(id: MessageId): void {
    if (id === answerId) return
    answerId = id
    calls = []
    slice = -1
    kind = undefined
    blank = ''
  }

  function release(): StreamEvent[] {
    if (!held || !answerId) return []
    const { piece, seq } = held
    held = undefined
    return [event(seq, contentSlice(answerId, { ...piece, slice }, origin(seq)))]
  }

  function content(id: MessageId, piece: ContentPiece, seq: number): StreamEvent[] {
    const before = id === answerId && piece.kind === kind ? [] : release()
    turnTo(id)
    if (piece.text === '') return before
    if (piece.kind !== kind) {
      const text = piece.kind === 'reasoning' ? blank + piece.text : piece.text
      if (piece.kind === 'reasoning' && text.trim() === '') {
        blank = text
        return before
      }
      kind = piece.kind
      slice++
      like = undefined
      blank = ''
      return [...before, ...say({ ...piece, text }, seq)]
    }
    return [...before, ...say(piece, seq)]
  }

  function say(piece: ContentPiece, seq: number): StreamEvent[] {
    if (detail === 'tokens') return [event(seq, pieceOf(piece, seq))]
    held = { piece: { ...piece, text: (held?.piece.text ?? '') + piece.text }, seq }
    return []
  }

  function pieceOf(piece: ContentPiece, seq: number): StreamEvent['data'] {
    like ??= contentSlice(answerId!, { ...piece, slice }, origin(seq))
    const date = wireDate(options.now())
    if (like.message_type === 'assistant_message') return { ...like, date, seq_id: seq, content: piece.text }
    return { ...like, date, seq_id: seq, reasoning: piece.text }
  }

  function result(chunk: Extract<Chunk, { message_type: 'tool_return_message' }>, seq: number): StreamEvent[] {
    returns.push(chunk)
    const given = new Map(returns.map((one) => [one.tool_return.tool_call_id, one]))
    // The results of a step are one message, in the order of its calls; so they are told when the last one is there.
    if (!calls.every(({ callId }) => given.has(callId))) return []
    const ordered = calls.length > 0 ? calls.map(({ callId }) => given.get(callId)!) : returns
    returns = []
    const results = ordered.map(({ name, tool_return: { tool_call_id, status, tool_return } }) => ({
      callId: tool_call_id,
      status,
      output: tool_return,
      tool: name || undefined,
    }))
    return [event(seq, returnSlice(chunk.id, results, origin(seq)))]
  }

  function told(chunk: Chunk, seq: number): StreamEvent[] {
    switch (chunk.message_type) {
      case 'assistant_message':
        return content(chunk.id, { kind: 'text', text: chunk.content }, seq)
      case 'reasoning_message':
        return content(chunk.id, { kind: 'reasoning', text: chunk.reasoning }, seq)
      case 'tool_call_message':
      case 'approval_request_message': {
        const before = release()
        turnTo(chunk.id)
        calls = [...calls, ...chunk.tool_calls.map(({ tool_call_id, name }) => ({ callId: tool_call_id, tool: name }))]
        const wire = chunk.tool_calls.map(({ name, arguments: text, tool_call_id }) => ({
          name,
          arguments: text,
          tool_call_id,
        }))
        if (chunk.message_type === 'approval_request_message')
          return [...before, event(seq, requestSlice(chunk.id, wire, origin(seq)))]
        slice++
        kind = undefined
        return [...before, event(seq, callsSlice(chunk.id, { calls: wire, slice }, origin(seq)))]
      }
      case 'tool_return_message':
        return [...release(), ...result(chunk, seq)]
      case 'stop_reason':
        stopReason = chunk.stop_reason
        return [...release(), { ...event(seq, { ...chunk }), isTerminal: true }]
      case 'error_message': {
        // The answer is there, only not whole: the stop reason says so, and it is no error to the client.
        if (stopReason === 'max_tokens_exceeded') return []
        const { message_type, error_type, message, detail: why } = chunk
        const data = { message_type, run_id: runId, error_type, message, detail: why, seq_id: seq }
        return [{ ...event(seq, data, 'error'), isTerminal: true }]
      }
      case 'usage_statistics':
        return [{ ...event(seq, wireUsage(chunk, runId)), isTerminal: true }]
      case 'summary_message': {
        const otid = sliceOtid(chunk.id, 0)
        const data = { ...chunk, otid, run_id: runId, seq_id: seq, compaction_stats: null }
        return [...release(), event(seq, data, 'summary_message')]
      }
      case 'message_reset':
      case 'attempt_failed':
      case 'tool_progress':
      case 'worker_lost':
        return [...release(), event(seq, { ...chunk, run_id: runId, seq_id: seq }, chunk.message_type)]
      case 'done':
        return release()
    }
  }

  return { take: ({ number, chunk }) => (chunk.message_type === 'done' ? 'done' : told(chunk, number)) }
}
