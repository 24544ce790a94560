import { defined } from '../../core/defined.ts'
import type { AssistantBody, MessageBody } from '../../core/message.ts'

/** How a dialect with two alternating roles encodes its messages. */
type TurnWriter<Form> = {
  /** The role name of the model, and the field that holds a turn's content. */
  modelRole: string
  listName: string
  /** One message without brackets, or an empty string; `answer` is the last answer before it. */
  textOf(body: MessageBody, form: Form, answer: AssistantBody | undefined): string
  keyOf(form: Form): string
  /** Replacements for a missing user turn: at the start, and after an answer that is to be continued. */
  opening: string
  continuation: string
}

type AlternatingTurns<Form> = (bodies: readonly MessageBody[], form: Form, marking?: Marking) => string

/** Cache marks for the messages at these positions; the cached texts stay unmarked. */
type Marking = { positions: readonly number[]; mark(text: string): string }

/** Number of messages cached as one text, so that a long history is joined from a few texts. */
const SPAN_LENGTH = 64

type Role = 'user' | 'model'
type CachedSpan = { bodies: readonly MessageBody[]; before: Role | undefined; text: string; after: Role | undefined }

/**
 * Encodes messages as alternating turns: adjacent messages of one role share a turn, and the user is first and last.
 * Spans of messages are cached by the identity of each message, so that only the new messages cost time.
 */
export function newAlternatingTurns<Form>(writer: TurnWriter<Form>): AlternatingTurns<Form> {
  const { opening, continuation } = writer
  const openings: Record<Role, string> = {
    user: `{"role":"user","${writer.listName}":[`,
    model: `{"role":"${writer.modelRole}","${writer.listName}":[`,
  }
  const caches = new Map<string, WeakMap<MessageBody, CachedSpan>>()

  function write(bodies: readonly MessageBody[], form: Form, marking?: Marking): string {
    const cache = cacheOf(writer.keyOf(form))
    const firstMark = Math.min(...(marking?.positions ?? []), bodies.length)
    let text = ''
    let role: Role | undefined
    let start = 0
    for (; start + SPAN_LENGTH <= firstMark; start += SPAN_LENGTH) {
      const run =
        findCached(cache, bodies, { start, before: role }) ?? keep(cache, bodies, { start, before: role, form })
      text += run.text
      role = run.after
    }
    const pieces: string[] = []
    role = writeEach(pieces, bodies, { start, end: bodies.length, before: role, form, ...defined({ marking }) })
    if (role !== 'user') addTurn(pieces, role, { next: 'user', text: role ? continuation : opening })
    // Concatenated, not joined: the whole text is copied only once, when it is sent.
    return `${text + pieces.join('')}]}`
  }

  type Span = { start: number; end: number; before: Role | undefined; form: Form; marking?: Marking }

  function writeEach(pieces: string[], bodies: readonly MessageBody[], span: Span): Role | undefined {
    const { start, end, before, form, marking } = span
    let role = before
    let answer = lastAnswer(bodies, start)
    for (let position = start; position < end; position++) {
      const body = bodies[position]!
      const text = writer.textOf(body, form, answer)
      if (body.role === 'assistant') answer = body
      if (text === '') continue
      const next = body.role === 'assistant' ? 'model' : 'user'
      if (!role && next === 'model') role = addTurn(pieces, role, { next: 'user', text: opening })
      role = addTurn(pieces, role, { next, text: marking?.positions.includes(position) ? marking.mark(text) : text })
    }
    return role
  }

  function addTurn(pieces: string[], role: Role | undefined, { next, text }: { next: Role; text: string }): Role {
    if (next === role) pieces.push(',', text)
    else pieces.push(role ? ']},' : '', openings[next], text)
    return next
  }

  function keep(
    cache: WeakMap<MessageBody, CachedSpan>,
    bodies: readonly MessageBody[],
    { start, before, form }: Omit<Span, 'end'>,
  ): CachedSpan {
    const pieces: string[] = []
    const after = writeEach(pieces, bodies, { start, end: start + SPAN_LENGTH, before, form })
    const run = { bodies: bodies.slice(start, start + SPAN_LENGTH), before, text: pieces.join(''), after }
    cache.set(bodies[start]!, run)
    return run
  }

  function cacheOf(key: string): WeakMap<MessageBody, CachedSpan> {
    const cache = caches.get(key) ?? new WeakMap<MessageBody, CachedSpan>()
    caches.set(key, cache)
    return cache
  }

  return write
}

function findCached(
  cache: WeakMap<MessageBody, CachedSpan>,
  bodies: readonly MessageBody[],
  { start, before }: { start: number; before: Role | undefined },
): CachedSpan | undefined {
  const run = cache.get(bodies[start]!)
  if (!run || run.before !== before) return undefined
  for (let index = 0; index < SPAN_LENGTH; index++) if (run.bodies[index] !== bodies[start + index]) return undefined
  return run
}

function lastAnswer(bodies: readonly MessageBody[], end: number): AssistantBody | undefined {
  for (let position = end - 1; position >= 0; position--) {
    const body = bodies[position]!
    if (body.role === 'assistant') return body
  }
  return undefined
}
