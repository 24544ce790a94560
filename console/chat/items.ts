import type { Chunk } from '../../src/core/chunk.ts'
import { defined } from '../../src/core/defined.ts'

/** A tool call with what became of it. */
export type CallItem = {
  type: 'call'
  key: string
  name: string
  args: string
  /** Absent while it runs or waits. */
  result?: { status: 'success' | 'error'; text: string; images?: string[] }
  progress?: string
  needsApproval?: boolean
}

export type Item =
  | { type: 'user'; key: string; text: string; images: string[]; messageId?: string }
  | { type: 'assistant'; key: string; text: string; messageId?: string }
  | { type: 'reasoning'; key: string; text: string }
  | CallItem
  | { type: 'note'; key: string; text: string; tone: 'plain' | 'fault' }

/** A message as the API lists it. */
export type WireMessage = {
  id: string
  message_type: string
  date: string
  run_id: string | null
  name?: string | null
  content?: unknown
  reasoning?: string
  summary?: string
  tool_call?: WireCall
  tool_calls?: WireCall[] | WireCall
  tool_call_id?: string
  tool_return?: string
  status?: 'success' | 'error'
  tool_returns?: { tool_call_id: string; status: 'success' | 'error'; tool_return: unknown }[]
  approvals?: { approve?: boolean; tool_call_id: string; reason?: string | null }[]
}

type WireCall = { name: string; arguments: string; tool_call_id: string }

/** The transcript of committed messages, oldest first. */
export function itemsOf(messages: readonly WireMessage[]): Item[] {
  const items: Item[] = []
  const calls = new Map<string, CallItem>()
  for (const message of messages) addMessage(message, items, calls)
  return items
}

function addMessage(message: WireMessage, items: Item[], calls: Map<string, CallItem>): void {
  const key = `${message.id}/${message.message_type}`
  switch (message.message_type) {
    case 'user_message':
      items.push({ type: 'user', key, messageId: message.id, ...contentOf(message.content) })
      return
    case 'assistant_message':
      items.push({ type: 'assistant', key, messageId: message.id, text: contentOf(message.content).text })
      return
    case 'reasoning_message':
    case 'hidden_reasoning_message':
      if (message.reasoning) items.push({ type: 'reasoning', key, text: message.reasoning })
      return
    case 'tool_call_message':
    case 'approval_request_message':
      for (const call of callsOf(message)) {
        const item: CallItem = { type: 'call', key: call.tool_call_id, name: call.name, args: call.arguments }
        if (message.message_type === 'approval_request_message') item.needsApproval = true
        calls.set(call.tool_call_id, item)
        items.push(item)
      }
      return
    case 'tool_return_message': {
      const returns = message.tool_returns ?? []
      for (const one of returns) settle(calls, one.tool_call_id, { status: one.status, ...contentOf(one.tool_return) })
      return
    }
    case 'approval_response_message':
      for (const { approve, reason } of message.approvals ?? [])
        if (approve === false) items.push(note(key, `Denied${reason ? `: ${reason}` : '.'}`))
      return
    case 'summary_message':
      items.push(note(key, `Earlier messages were summarized: ${message.summary ?? ''}`))
      return
    case 'event_message':
    case 'system_message':
      return
  }
}

const note = (key: string, text: string, tone: 'plain' | 'fault' = 'plain'): Item => ({ type: 'note', key, text, tone })

function settle(calls: Map<string, CallItem>, id: string, result: NonNullable<CallItem['result']>): void {
  const call = calls.get(id)
  if (!call) return
  call.result = result
  delete call.progress
}

const callsOf = ({ tool_call, tool_calls }: WireMessage): WireCall[] =>
  Array.isArray(tool_calls) ? tool_calls : tool_call ? [tool_call] : []

function contentOf(content: unknown): { text: string; images: string[] } {
  if (typeof content === 'string') return { text: content, images: [] }
  const parts = Array.isArray(content) ? (content as Record<string, unknown>[]) : []
  const images = parts.flatMap((part) => {
    const source = part.type === 'image' ? (part.source as Record<string, string> | undefined) : undefined
    return source?.type === 'base64' ? [`data:${source.media_type};base64,${source.data}`] : []
  })
  return { text: parts.map((part) => (typeof part.text === 'string' ? part.text : '')).join(''), images }
}

/** What a running turn shows beside the committed messages. */
export type LiveTurn = {
  items: Item[]
  /** What it waits for now: `openai/gpt is not answering: next attempt in 12 s`. */
  waiting?: { text: string; until?: number }
  /** Failed attempts since the last piece of an answer. */
  failures: number
  usage?: { prompt_tokens: number; completion_tokens: number }
  isDone: boolean
}

export const newLiveTurn = (): LiveTurn => ({ items: [], failures: 0, isDone: false })

/** Adds a chunk. The turn is changed in place, because the page draws once a frame; an item that changes is another object. */
export function addChunk(turn: LiveTurn, chunk: Chunk, at: number): void {
  switch (chunk.message_type) {
    case 'assistant_message':
      answerCame(turn)
      append(turn, 'assistant', chunk.id, chunk.content)
      return
    case 'reasoning_message':
      answerCame(turn)
      append(turn, 'reasoning', chunk.id, chunk.reasoning)
      return
    case 'tool_call_delta':
      answerCame(turn)
      changeCall(turn, chunk.tool_call_id, (call) => ({
        ...call,
        name: call.name || (chunk.name ?? ''),
        args: call.args + chunk.arguments,
        ...defined({ needsApproval: chunk.needs_approval ? true : undefined }),
      }))
      return
    case 'tool_call_message':
    case 'approval_request_message': {
      const needsApproval = chunk.message_type === 'approval_request_message' ? true : undefined
      for (const { tool_call_id: id, name, arguments: args } of chunk.tool_calls)
        changeCall(turn, id, (call) => ({ ...call, name, args, ...defined({ needsApproval }) }))
      return
    }
    case 'tool_progress':
      changeCall(turn, chunk.tool_call_id, (call) => ({ ...call, progress: chunk.text }))
      return
    case 'tool_return_message': {
      const { tool_call_id: id, status, tool_return: text } = chunk.tool_return
      changeCall(turn, id, ({ progress: _, ...call }) => ({
        ...call,
        name: call.name || chunk.name,
        result: { status, text },
      }))
      return
    }
    case 'message_reset':
      // Text that no answer keeps: after a crash or a failover another answer begins.
      turn.items = turn.items.filter((item) => chunk.id !== null && !item.key.startsWith(chunk.id))
      return
    case 'attempt_failed': {
      const { target, next_target: next, wait_ms: wait, detail } = chunk
      turn.failures++
      turn.waiting = next
        ? { text: `${target} failed: ${detail}. Asking ${next} instead.` }
        : {
            text: `${target} failed: ${detail}. Attempt ${turn.failures + 1}`,
            ...defined({ until: wait === undefined ? undefined : at + wait }),
          }
      return
    }
    case 'worker_lost':
      turn.items.push(note(`death/${turn.items.length}`, 'The process died here; another one goes on.'))
      return
    case 'summary_message':
      turn.items.push(note(chunk.id, 'Earlier messages were summarized to make room.'))
      return
    case 'error_message':
      turn.items.push(note(`error/${turn.items.length}`, chunk.detail ?? chunk.message, 'fault'))
      return
    case 'usage_statistics':
      turn.usage = chunk
      return
    case 'stop_reason':
      delete turn.waiting
      return
    case 'done':
      turn.isDone = true
  }
}

function answerCame(turn: LiveTurn): void {
  delete turn.waiting
  turn.failures = 0
}

function append(turn: LiveTurn, type: 'assistant' | 'reasoning', id: string, text: string): void {
  const key = `${id}/${type}`
  const index = turn.items.findLastIndex((item) => item.key === key)
  const known = turn.items[index]
  if (known?.type === type) turn.items[index] = { ...known, text: known.text + text }
  else turn.items.push({ type, key, text })
}

function changeCall(turn: LiveTurn, id: string, change: (call: CallItem) => CallItem): void {
  const index = turn.items.findLastIndex((item) => item.key === id)
  const known = turn.items[index]
  if (known?.type === 'call') turn.items[index] = change(known)
  else turn.items.push(change({ type: 'call', key: id, name: '', args: '' }))
}
