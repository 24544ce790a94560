import type { Json } from '../core/json.ts'
import type { Asked } from './asked.ts'
import type { FinishName, Reasoning, Reply } from './script.ts'
import type { errorOf } from './vendor-errors.ts'

/** How a protocol says a reply: as events of a stream, and as one body. */
export type Voice = {
  frames(said: Said): Frame[]
  whole(said: Said): Json
  /** A sign of life that says nothing, as it stands on the wire. */
  ping: string
  /** An error in the middle of a stream. */
  errorFrame(error: ReturnType<typeof errorOf> & { body: Json; asFailed: boolean; position: number }, said: Said): Frame
  /** The end of a line in its event stream. */
  newline: '\n' | '\r\n'
}

/** One event of a stream. Frames that close say why the answer ended, or come after it. */
export type Frame = { event?: string; data: string; closes?: true }

/** A reply with everything decided that the script left open. */
export type Said = {
  /** The number of the request: ids are made of it. */
  number: number
  model: string
  text: string
  reasoning: Reasoning | undefined
  refusal: string | undefined
  calls: SaidCall[]
  usage: Tokens | undefined
  finish: FinishName
  callIds: NonNullable<Reply['callIds']>
  wantsUsage: boolean
  pieces(text: string): string[]
}

export type SaidCall = { id: string; name: string; json: string; signature: string | undefined }
export type Tokens = { input: number; output: number; cached: number; written: number; reasoning: number }

/** Always the same: an answer must not depend on when it was given. */
export const CREATED = 1_700_000_000

const CHARACTERS_PER_CHUNK = 16

export function sayReply(reply: Reply, asked: Asked, number: number): Said {
  const shared = reply.callIds === 'shared'
  const calls = (reply.calls ?? []).map((call, at) => ({
    id: call.id ?? `call_${number}_${shared ? 1 : at + 1}`,
    name: call.name,
    json: call.json ?? JSON.stringify(call.arguments ?? {}),
    signature: call.signature,
  }))
  const size = reply.pace?.charactersPerChunk ?? CHARACTERS_PER_CHUNK
  return {
    number,
    model: asked.model,
    text: reply.text ?? '',
    reasoning: reply.reasoning,
    refusal: reply.refusal,
    calls,
    usage: tokensOf(reply, asked),
    finish: reply.finish ?? (reply.refusal !== undefined ? 'refusal' : calls.length > 0 ? 'tool-calls' : 'stop'),
    callIds: reply.callIds ?? 'once',
    wantsUsage: asked.wantsUsage,
    pieces: (text) => piecesOf(text, size),
  }
}

/** Where the script does not count, four characters are a token. */
function tokensOf(reply: Reply, asked: Asked): Tokens | undefined {
  if (reply.usage === 'none') return undefined
  const guess = (text: string) => Math.ceil(text.length / 4)
  const reasoning = guess(reply.reasoning?.text ?? '')
  const spoken = guess((reply.text ?? '') + (reply.refusal ?? '') + JSON.stringify(reply.calls ?? ''))
  return { input: guess(asked.raw), output: spoken + reasoning, cached: 0, written: 0, reasoning, ...reply.usage }
}

/** In whole characters: a vendor never cuts one. `bytesPerWrite` does. */
function piecesOf(text: string, size: number): string[] {
  const characters = Array.from(text)
  const pieces: string[] = []
  for (let at = 0; at < characters.length; at += size) pieces.push(characters.slice(at, at + size).join(''))
  return pieces
}

export const jsonFrame = (data: Json): Frame => ({ data: JSON.stringify(data) })
export const closing = (frame: Frame): Frame => ({ ...frame, closes: true })

/** The id that comes with a later piece of a call. */
export const laterId = (call: SaidCall, { callIds }: Said, piece: number): string | undefined =>
  callIds === 'repeated' ? call.id : callIds === 'changed' ? `${call.id}_changed_${piece}` : undefined
