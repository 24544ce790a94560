import { defined } from '../../../src/core/defined.ts'
import { type MessageBody, textOf } from '../../../src/core/message.ts'

const CONTINUE_PROMPT = /^Your answer reached its length limit\./
const EMPTY_ANSWER_PROMPT = /^Your last answer had no text and called no tool\./
const QUOTED = '\n\nThe latest message, word for word:\n'
const SUMMARIZE = 'Summarize the conversation you are given'

/** A model request as the simulated model reads it. */
export type ParsedPrompt = {
  /** The last user message, also if it is quoted in a summary. */
  text: string
  /** Number of answers after it. */
  steps: number
  /** Partial text that the model is asked to continue. */
  kept?: string
  isNudged: boolean
  isSummary: boolean
  /** Without prompts for the model alone. */
  messages: readonly MessageBody[]
}

export function parsePrompt({ system, messages }: { system: string; messages: readonly MessageBody[] }): ParsedPrompt {
  const last = userText(messages.at(-1))
  const isSummary = system.startsWith(SUMMARIZE) || last.startsWith(SUMMARIZE)
  const isNudged = EMPTY_ANSWER_PROMPT.test(last)
  const before = messages.at(-2)
  const kept = CONTINUE_PROMPT.test(last) && before?.role === 'assistant' ? textOf(before.content) : undefined
  const plain = messages.slice(0, messages.length - (kept !== undefined ? 2 : isNudged ? 1 : 0))
  const position = plain.findLastIndex(({ role }) => role === 'user' || role === 'system')
  const steps = plain.slice(position + 1).filter(({ role }) => role === 'assistant').length
  const text = subjectOf(position < 0 ? quotedIn(plain) : userText(plain[position]))
  return { text, steps, isNudged, isSummary, messages: plain, ...defined({ kept }) }
}

/** Separates what a message asks from text that only makes it long. */
const FILLER = ' ⟦'

export const withFiller = (text: string, length: number): string => `${text}${FILLER}${'x'.repeat(length)}⟧`

/** What a message asks, whether it is long, was cut, or neither. */
export const subjectOf = (text: string): string => text.split(FILLER)[0]!.split(' [… ')[0]!

export const isPromptForModel = (text: string): boolean => CONTINUE_PROMPT.test(text) || EMPTY_ANSWER_PROMPT.test(text)

const userText = (body: MessageBody | undefined): string =>
  body?.role === 'user' || body?.role === 'system' ? textOf(body.content) : ''

function quotedIn(messages: readonly MessageBody[]): string {
  const summary = messages.findLast(({ role }) => role === 'summary')
  if (summary?.role !== 'summary') return ''
  const position = summary.text.lastIndexOf(QUOTED)
  return position < 0 ? '' : summary.text.slice(position + QUOTED.length)
}
