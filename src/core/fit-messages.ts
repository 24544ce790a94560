import { cutText } from './cut-text.ts'
import type { Json } from './json.ts'
import { type AnswerPart, type InputPart, type MessageBody, type SummaryBody, textOf } from './message.ts'
import { cutSummary } from './quoted-question.ts'
import { CHARS_PER_TOKEN, estimateAll, estimateTokens } from './token-estimate.ts'

/** One message takes no more than this share of the room when it is decided how many are kept. */
const MESSAGE_SHARE = 1 / 4
/** Shorter texts are not cut further: the mark alone has this size. */
const LEAST_CHARS = 80

/**
 * The copy of a request's messages that fits into `budget` estimated tokens: the oldest messages are left out and long
 * texts are cut, both with a visible mark. The stored messages stay whole. It is for what a summary could not shorten.
 * The last `prompts` messages are for this request only: the question is before them.
 */
export function fitMessages(messages: readonly MessageBody[], budget: number, prompts = 0): MessageBody[] {
  const kept = withoutOldest(messages, budget, prompts)
  if (estimateAll(kept) <= budget) return kept
  const isCrowded = roomForTexts(kept, budget) < (budget * CHARS_PER_TOKEN) / 2
  const plain = isCrowded ? kept.map(withoutUncuttable) : kept
  const longest = commonLength(plain.flatMap(cuttableLengths), roomForTexts(plain, budget))
  return plain.map((body) => cutBody(body, longest))
}

/** Characters that are left for texts beside what cannot be cut. */
function roomForTexts(bodies: readonly MessageBody[], budget: number): number {
  const texts = bodies.flatMap(cuttableLengths).reduce((sum, length) => sum + length, 0)
  return budget * CHARS_PER_TOKEN - (estimateAll(bodies) * CHARS_PER_TOKEN - texts)
}

/** The newest messages, each counted with its share of the room at most; a mark stands for the others. */
function withoutOldest(messages: readonly MessageBody[], budget: number, prompts: number): MessageBody[] {
  const [first] = messages
  const summary = first?.role === 'summary' ? first : undefined
  const rest = summary ? messages.slice(1) : messages
  const share = budget * MESSAGE_SHARE
  let room = budget - (summary ? Math.min(share, estimateTokens(summary)) : 0) - LEAST_CHARS / CHARS_PER_TOKEN
  let start: number | undefined
  for (let index = rest.length - 1; index >= 0; index--) {
    room -= Math.min(share, estimateTokens(rest[index]!))
    if (room < 0 && start !== undefined) break
    // Results stay with their calls.
    if (rest[index]!.role !== 'tool') start = index
  }
  if (!start) return [...messages]
  const asked = rest.slice(0, rest.length - prompts).findLastIndex(({ role }) => role === 'user')
  const question = asked >= 0 && asked < start ? [rest[asked]!] : []
  return [markFor(start - question.length, summary), ...question, ...rest.slice(start)]
}

function markFor(count: number, summary: SummaryBody | undefined): SummaryBody {
  const mark = `[… ${count} earlier messages left out: they do not fit into the context window …]`
  if (!summary) return { role: 'summary', text: mark, replaces: { from: 0, to: count - 1 } }
  return { ...summary, text: `${mark}\n\n${summary.text}` }
}

/** The length to which texts are cut so that all of them fit: short ones stay whole. */
function commonLength(lengths: readonly number[], room: number): number {
  let left = room
  const sorted = lengths.toSorted((one, other) => one - other)
  for (const [index, length] of sorted.entries()) {
    const each = left / (sorted.length - index)
    if (length > each) return Math.max(LEAST_CHARS, Math.floor(each))
    left -= length
  }
  return Math.max(LEAST_CHARS, sorted.at(-1) ?? 0)
}

/** Reasoning and images cannot be shortened: where they take most of the room, they are left out. */
function withoutUncuttable(body: MessageBody): MessageBody {
  switch (body.role) {
    case 'user':
    case 'system':
      return body.content.some(isImage) ? { ...body, content: body.content.map(describeImage) } : body
    case 'assistant': {
      const content = body.content.filter((part) => part.type === 'text')
      return content.length === body.content.length ? body : { ...body, content }
    }
    case 'tool': {
      if (body.outcomes.every(({ images }) => !images)) return body
      const outcomes = body.outcomes.map(({ images, ...outcome }) =>
        images ? { ...outcome, output: `${outcome.output}\n${IMAGE_MARK}` } : outcome,
      )
      return { ...body, outcomes }
    }
    case 'approval':
    case 'summary':
      return body
  }
}

const IMAGE_MARK = '[… an image left out …]'
const isImage = (part: InputPart): boolean => part.type === 'image'
const describeImage = (part: InputPart): InputPart =>
  part.type === 'image' ? { type: 'text', text: IMAGE_MARK } : part

function cuttableLengths(body: MessageBody): number[] {
  switch (body.role) {
    case 'user':
    case 'system':
      return [textOf(body.content).length]
    case 'assistant':
      return [textOf(body.content).length, ...body.calls.map(({ input }) => JSON.stringify(input).length)]
    case 'tool':
      return body.outcomes.map(({ output }) => output.length)
    case 'summary':
      return [body.text.length]
    case 'approval':
      return []
  }
}

function cutBody(body: MessageBody, longest: number): MessageBody {
  if (cuttableLengths(body).every((length) => length <= longest)) return body
  switch (body.role) {
    case 'user':
    case 'system':
      return { ...body, content: cutParts(body.content, longest) }
    case 'assistant': {
      const calls = body.calls.map((call) => ({ ...call, input: cutInput(call.input, longest) }))
      return { ...body, content: cutParts(body.content, longest), calls }
    }
    case 'tool':
      return {
        ...body,
        outcomes: body.outcomes.map((outcome) => ({ ...outcome, output: cutText(outcome.output, longest) })),
      }
    case 'summary':
      return { ...body, text: cutSummary(body.text, longest) }
    case 'approval':
      return body
  }
}

function cutParts<Part extends InputPart | AnswerPart>(parts: readonly Part[], longest: number): Part[] {
  const texts = parts.filter((part) => part.type === 'text').length
  return parts.map((part) =>
    part.type === 'text' ? { ...part, text: cutText(part.text, Math.floor(longest / texts)) } : part,
  )
}

/** An input stays an object, as APIs require: its long strings are cut. */
function cutInput(input: Json, longest: number): Json {
  const length = JSON.stringify(input).length
  if (length <= longest) return input
  const cut = cutStrings(input, longest)
  return JSON.stringify(cut).length <= 2 * longest ? cut : { left_out: cutText(JSON.stringify(input), longest) }
}

function cutStrings(value: Json, longest: number): Json {
  if (typeof value === 'string') return cutText(value, longest)
  if (Array.isArray(value)) return value.map((one) => cutStrings(one, longest))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, cutStrings(one ?? null, longest)]))
}
