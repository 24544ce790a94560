import { closing, type Frame, type ResolvedReply, type Responder } from './responder.ts'
import type { Break, ModelProtocol } from './script.ts'
import { toStreamError, vendorError } from './vendor-errors.ts'

type SpoilContext = { responder: Responder; reply: ResolvedReply; protocol: ModelProtocol }

/** Applies the breaks that change the content of a stream, as opposed to its connection. */
export function spoilFrames(frames: Frame[], breaks: Break[], context: SpoilContext): Frame[] {
  return breaks.reduce((spoiled, one) => spoil(spoiled, one, context), frames)
}

function spoil(frames: Frame[], one: Break, { responder, reply, protocol }: SpoilContext): Frame[] {
  switch (one.how) {
    case 'no-finish':
      return frames.filter((frame) => !frame.closes)
    case 'malformed':
      return replaced(frames, one.chunk, (frame) => [{ ...frame, data: frame.data.slice(0, frame.data.length / 2) }])
    case 'duplicate':
      return replaced(frames, one.chunk, (frame) => [frame, frame])
    case 'joined':
      return joined(frames, one.chunk)
    case 'error-event': {
      const { body } = vendorError(one, { protocol, ...reply })
      const position = Math.min(one.afterChunks ?? 1, frames.length)
      const error = { ...toStreamError(body), body, asFailed: one.as === 'failed', position }
      return [...frames.slice(0, position), closing(responder.errorFrame(error, reply))]
    }
    case 'pings':
    case 'reset':
    case 'cut':
    case 'end':
    case 'stall':
      return frames
  }
}

/** `chunk` counts from 1. */
const replaced = (frames: Frame[], chunk: number, by: (frame: Frame) => Frame[]): Frame[] =>
  frames.flatMap((frame, at) => (at === chunk - 1 ? by(frame) : [frame]))

function joined(frames: Frame[], chunk: number): Frame[] {
  const [first, second] = [frames[chunk - 1], frames[chunk]]
  if (!first || !second) return frames
  return frames.flatMap((frame) => {
    if (frame === second) return []
    return frame === first ? [{ ...first, data: first.data + second.data }] : [frame]
  })
}
