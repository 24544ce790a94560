import { type Input, type Message, textOf } from '../message.ts'
import type { SentMessage } from './sent-message.ts'

/** What a person said and what was answered to it, as the conversation keeps it. */
export type Exchange = {
  said: string
  /** The texts of the answers; a cut one is marked. */
  answers: { text: string; isCut: boolean }[]
  /** Position of its last message. */
  end: number
}

/**
 * Which of the messages that a client sent are new. Clients send the history with every request, and the conversation
 * has its own. `branch`: the client continues from an earlier exchange, because a message was edited or an answer is
 * wanted again; without `end` from the beginning.
 */
export type Tail =
  | { type: 'tail'; messages: SentMessage[]; changed?: number }
  | { type: 'branch'; messages: SentMessage[]; end?: number }
  | { type: 'mismatch'; at: number }

/** Finds the exchange that the client saw last, and takes what comes after it. */
export function findTail(sent: readonly SentMessage[], kept: readonly Exchange[]): Tail {
  const answered = sent.findLastIndex(({ role }) => role === 'assistant')
  if (kept.length === 0 || answered < 0) return { type: 'tail', messages: [...sent] }
  const messages = sent.slice(answered + 1)
  const last = sent[answered]!
  const seen = lastExchange(sent.slice(0, answered + 1))
  const isSame = (exchange: Exchange) => isSaid(seen.said, exchange) && isAnswered(seen.answer, exchange)
  const at = kept.findLastIndex(isSame)
  if (at >= 0 && at === kept.length - 1) return { type: 'tail', messages }
  // A client may show an answer in another form than the agent gave it.
  if (isSaid(seen.said, kept.at(-1)!))
    return kept.at(-1)!.answers.length === 0 ? { type: 'tail', messages } : { type: 'tail', messages, changed: last.at }
  if (at >= 0) return { type: 'branch', messages, end: kept[at]!.end }
  return { type: 'mismatch', at: last.at }
}

/** The messages of a conversation as exchanges, oldest first. */
export function exchangesOf(messages: readonly Message[]): Exchange[] {
  const exchanges: Exchange[] = []
  for (const { body, position } of messages) {
    const last = exchanges.at(-1)
    if (body.role === 'user') {
      const text = normal(textOf(body.content))
      if (last && last.answers.length === 0) Object.assign(last, { said: `${last.said} ${text}`.trim(), end: position })
      else exchanges.push({ said: text, answers: [], end: position })
    } else if (last) {
      last.end = position
      if (body.role === 'assistant') last.answers.push({ text: normal(textOf(body.content)), isCut: body.cut === true })
    }
  }
  return exchanges
}

/** The inputs of a run that has not answered yet. */
export function openExchange(inputs: readonly Input[]): Exchange[] {
  const said = inputs.filter(({ role }) => role === 'user').map(({ content }) => textOf(content))
  return said.length === 0 ? [] : [{ said: normal(said.join(' ')), answers: [], end: Number.MAX_SAFE_INTEGER }]
}

function lastExchange(sent: readonly SentMessage[]): { said: string; answer: string } {
  const said: string[] = []
  const answers: string[] = []
  for (const message of sent.toReversed()) {
    if (message.role === 'user') said.unshift(textOf(message.content))
    else if (message.role === 'assistant' && said.length > 0) break
    else if (message.role === 'assistant') answers.unshift(message.text)
  }
  return { said: normal(said.join(' ')), answer: normal(withoutReasoning(answers.join(' '))) }
}

/** A turn may have begun with more messages than the client knows of. */
const isSaid = (said: string, exchange: Exchange): boolean =>
  exchange.said === said || (said !== '' && exchange.said.endsWith(said))

function isAnswered(answer: string, { answers }: Exchange): boolean {
  const texts = answers.map(({ text }) => text).filter((text) => text !== '')
  const whole = texts.join(' ')
  const last = texts.at(-1) ?? ''
  if (answer === whole || answer === last) return true
  // A failed attempt cannot be taken back from a stream: its text may come before the answer.
  if (last !== '' && answer.endsWith(last)) return true
  return answers.at(-1)?.isCut === true && (whole.startsWith(answer) || answer.startsWith(whole))
}

/** Front ends fold reasoning into the text in these forms. */
const REASONING = [/<think>[\s\S]*?<\/think>/g, /<details\b[^>]*\btype="(?:reasoning|tool_calls)"[\s\S]*?<\/details>/g]

const withoutReasoning = (text: string): string =>
  REASONING.reduce((rest, pattern) => rest.replaceAll(pattern, ' '), text)

const normal = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()
