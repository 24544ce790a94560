import { defined } from '../../../src/core/defined.ts'
export type StreamEvent = { event?: string; data: unknown } | { comment: string }

type Fields = Record<string, unknown>

/** Fields with pieces of a text: timing decides how a text is split, but not what it says. */
const PIECES = new Set(['content', 'reasoning', 'arguments'])
/** The position and time of a piece. */
const POSITION_FIELDS = new Set(['seq_id', 'number', 'date', 'at'])
const STREAMED = new Set([
  'tool_call_delta',
  'assistant_message',
  'reasoning_message',
  'tool_call_message',
  'approval_request_message',
])

/** Parses a server-sent stream. Adjacent pieces of one text become one event without the numbers of pieces. */
export function eventsIn(text: string): StreamEvent[] {
  const joined: StreamEvent[] = []
  for (const frame of text.split('\n\n').filter((part) => part !== '')) {
    const next = eventOf(frame)
    const last = joined.at(-1)
    const merged = last && 'data' in last && 'data' in next ? mergedData(last.data, next.data) : undefined
    if (merged) joined[joined.length - 1] = { ...last, data: merged }
    else joined.push(next)
  }
  return joined.map((event) => ('data' in event ? { ...event, data: withoutPlaces(event.data) } : event))
}

function eventOf(frame: string): StreamEvent {
  const lines = frame.split('\n')
  if (lines.every((line) => line.startsWith(':'))) return { comment: frame }
  const valuesOf = (name: string) =>
    lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2))
  const [event] = valuesOf('event')
  const data = valuesOf('data').join('\n')
  return { ...defined({ event }), data: data.startsWith('{') ? JSON.parse(data) : data }
}

function mergedData(one: unknown, other: unknown): unknown {
  return isStreamed(one) && isStreamed(other) ? merged(one, other) : undefined
}

function isStreamed(data: unknown): boolean {
  const fields = isFields(data) ? (isFields(data.chunk) ? data.chunk : data) : {}
  return STREAMED.has(String(fields.message_type))
}

/** Merges two events if they differ only in a piece of text and its position. */
function merged(one: unknown, other: unknown): unknown {
  if (one === other) return one
  if (Array.isArray(one) && Array.isArray(other)) {
    if (one.length !== other.length) return undefined
    const items = one.map((item, index) => merged(item, other[index]))
    return items.includes(undefined) ? undefined : items
  }
  if (!isFields(one) || !isFields(other)) return undefined
  if (Object.keys(one).join() !== Object.keys(other).join()) return undefined
  const entries = Object.entries(one).map(([name, value]) => {
    const next = other[name]
    if (POSITION_FIELDS.has(name)) return [name, value] as const
    // The first piece of a call has its name.
    if (name === 'name' && next === null) return [name, value] as const
    if (PIECES.has(name) && typeof value === 'string' && typeof next === 'string') return [name, value + next] as const
    return [name, merged(value, next)] as const
  })
  return entries.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(entries)
}

function withoutPlaces(data: unknown): unknown {
  if (!isFields(data)) return data
  return Object.fromEntries(Object.entries(data).filter(([name]) => !['seq_id', 'number', 'at'].includes(name)))
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
