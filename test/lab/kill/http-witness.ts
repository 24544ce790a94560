import type { WireValue } from '../../http/send-modes.ts'
import type { WorkerReport } from './check.ts'

/** A message as a client was told it, whole: it must be in the history, word for word. */
export type Finished = { runId: string; otid: string; type: string; text: string }

/** What the clients of all lives were told, kept outside of them. */
export type Witness = {
  told: WorkerReport[]
  finished: Finished[]
  /** Everything with a number that a reader of this run was told, in the order it was told. */
  readings: { runId: string; events: WireValue[] }[]
  /** What a client must never be told. */
  complaints: string[]
}

export const newWitness = (): Witness => ({ told: [], finished: [], readings: [], complaints: [] })

/** Dates are when it was told, not what was told. */
export const withoutDate = ({ date: _, ...event }: WireValue): WireValue => event

const TEXTS: Record<string, (message: WireValue) => string> = {
  assistant_message: ({ content }) => content,
  reasoning_message: ({ reasoning }) => reasoning,
  tool_call_message: ({ tool_calls }) => JSON.stringify(tool_calls),
  approval_request_message: ({ tool_calls }) => JSON.stringify(tool_calls),
  tool_return_message: ({ tool_returns }) => JSON.stringify(tool_returns),
}

/** The content of a message, whichever kind it is; nothing for kinds that have none. */
export const textIn = (message: WireValue): string | undefined => TEXTS[message.message_type]?.(message)

export const finishedIn = (runId: string, messages: readonly WireValue[]): Finished[] =>
  messages.flatMap((message) => {
    const text = textIn(message)
    return text === undefined ? [] : [{ runId, otid: message.otid, type: message.message_type, text }]
  })
