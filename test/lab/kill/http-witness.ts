import type { WireValue } from '../../http/send-modes.ts'
import type { WorkerReport } from './check.ts'

/** A complete message that a client received: it must be in the history unchanged. */
export type Finished = { runId: string; otid: string; type: string; text: string }

/** Responses that the clients of all lives received. */
export type Witness = {
  reports: WorkerReport[]
  finished: Finished[]
  /** The numbered events that a reader of this run received, in order. */
  readings: { runId: string; events: WireValue[] }[]
  /** Responses that a client must never receive. */
  complaints: string[]
}

export const newWitness = (): Witness => ({ reports: [], finished: [], readings: [], complaints: [] })

/** Removes the date, which differs between deliveries. */
export const withoutDate = ({ date: _, ...event }: WireValue): WireValue => event

const TEXTS: Record<string, (message: WireValue) => string> = {
  assistant_message: ({ content }) => content,
  reasoning_message: ({ reasoning }) => reasoning,
  tool_call_message: ({ tool_calls }) => JSON.stringify(tool_calls),
  approval_request_message: ({ tool_calls }) => JSON.stringify(tool_calls),
  tool_return_message: ({ tool_returns }) => JSON.stringify(tool_returns),
}

/** The content of a message of any kind; undefined for kinds without content. */
export const textIn = (message: WireValue): string | undefined => TEXTS[message.message_type]?.(message)

export const finishedIn = (runId: string, messages: readonly WireValue[]): Finished[] =>
  messages.flatMap((message) => {
    const text = textIn(message)
    return text === undefined ? [] : [{ runId, otid: message.otid, type: message.message_type, text }]
  })

/** A reader of the lab counts the ends of a stream apart from its messages. */
export const isEnd = ({ message_type }: WireValue): boolean =>
  ['stop_reason', 'usage_statistics', 'error_message'].includes(message_type)
