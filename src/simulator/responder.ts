import type { Json } from '../core/json.ts'
import type { FinishName, Reasoning, Reply } from './script.ts'

/** Encodes a reply for one protocol: as events of a stream, and as one body. */
export type Responder = {
  frames(reply: ResolvedReply): Frame[]
  whole(reply: ResolvedReply): Json
  /** A keep-alive event, as sent on the wire. */
  ping: string
  /** An error in the middle of a stream. */
  errorFrame(error: StreamError & { body: Json; asFailed: boolean; position: number }, reply: ResolvedReply): Frame
  /** Line ending of the event stream. */
  newline: '\n' | '\r\n'
}

/** An error inside a stream. */
export type StreamError = { message: string; code: string; type: string }

/** One event of a stream. A frame that `closes` has the finish reason, or follows it. */
export type Frame = { event?: string; data: string; closes?: true }

/** A reply with defaults for everything the script leaves open. */
export type ResolvedReply = {
  /** Number of the request; ids are derived from it. */
  number: number
  model: string
  text: string
  reasoning: Reasoning | undefined
  refusal: string | undefined
  calls: ResolvedCall[]
  usage: Tokens | undefined
  finish: FinishName
  callIds: NonNullable<Reply['callIds']>
  wantsUsage: boolean
  pieces(text: string): string[]
}

export type ResolvedCall = { id: string; name: string; json: string; signature: string | undefined }
export type Tokens = { input: number; output: number; cached: number; written: number; reasoning: number }

/** Constant, so that answers do not depend on the time. */
export const CREATED = 1_700_000_000

export const jsonFrame = (data: Json): Frame => ({ data: JSON.stringify(data) })
export const closing = (frame: Frame): Frame => ({ ...frame, closes: true })

/** The id sent with a later piece of a call. */
export const laterId = (call: ResolvedCall, { callIds }: ResolvedReply, piece: number): string | undefined =>
  callIds === 'repeated' ? call.id : callIds === 'changed' ? `${call.id}_changed_${piece}` : undefined
