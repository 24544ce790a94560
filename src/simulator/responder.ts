import type { Json } from '../core/json.ts'
import type { FinishName, Reasoning, Reply } from './script.ts'

/** How a protocol says a reply: as events of a stream, and as one body. */
export type Responder = {
  frames(said: ResolvedReply): Frame[]
  whole(said: ResolvedReply): Json
  /** A sign of life that says nothing, as it stands on the wire. */
  ping: string
  /** An error in the middle of a stream. */
  errorFrame(error: StreamError & { body: Json; asFailed: boolean; position: number }, said: ResolvedReply): Frame
  /** The end of a line in its event stream. */
  newline: '\n' | '\r\n'
}

/** What an error is called where it comes inside a stream. */
export type StreamError = { message: string; code: string; type: string }

/** One event of a stream. Frames that close say why the answer ended, or come after it. */
export type Frame = { event?: string; data: string; closes?: true }

/** A reply with everything decided that the script left open. */
export type ResolvedReply = {
  /** The number of the request: ids are made of it. */
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

/** Always the same: an answer must not depend on when it was given. */
export const CREATED = 1_700_000_000

export const jsonFrame = (data: Json): Frame => ({ data: JSON.stringify(data) })
export const closing = (frame: Frame): Frame => ({ ...frame, closes: true })

/** The id that comes with a later piece of a call. */
export const laterId = (call: ResolvedCall, { callIds }: ResolvedReply, piece: number): string | undefined =>
  callIds === 'repeated' ? call.id : callIds === 'changed' ? `${call.id}_changed_${piece}` : undefined
