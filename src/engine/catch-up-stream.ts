import {
  type Chunk,
  hasPrefix,
  NOTHING_STREAMED,
  renderEvent,
  type StreamedSoFar,
  streamedContentOf,
} from '../core/chunk.ts'
import type { LoggedEvent, TurnEvent } from '../core/event.ts'
import { apply, newTurn, type Turn } from '../core/turn.ts'
import type { FoundStream, RunStream } from '../ports/streams.ts'

/**
 * Writes what a dead writer left out of the stream: the rest of an answer, the chunks of committed events (terminal ones
 * too), and a reset for partial text without an event. Returns the turn folded from the events.
 */
export function catchUpStream(events: readonly LoggedEvent[], stream: RunStream): Turn {
  const first = events[0]?.event
  if (first?.type !== 'input-accepted')
    throw new Error(`a run log must begin with input-accepted, not ${first?.type ?? 'nothing'}`)
  const { found } = stream
  let { partial } = found

  const reset = (reason: string): Chunk[] => {
    const chunks: Chunk[] = partial ? [{ message_type: 'message_reset', id: partial.id, reason }] : []
    partial = undefined
    return chunks
  }
  if (found.mayHaveLost) stream.write([{ message_type: 'message_reset', id: null, reason: 'numbers-lost' }], 0)

  let turn = newTurn(first)
  for (const { seq, at, event } of events.slice(1)) {
    if (seq > found.lastEvent && !found.ended) {
      const streamed = streamedSoFar(event, found, partial)
      // The partial text belongs to this answer; emit only the remainder.
      if (streamed !== NOTHING_STREAMED && partial?.id === streamedContentOf(event)?.answerId) partial = undefined
      const chunks = renderEvent(turn, event, streamed)
      if (chunks.length > 0) stream.write([...reset('interrupted'), ...chunks], seq, at)
    }
    turn = apply(turn, event)
  }
  if (turn.phase === 'going') stream.write(reset('interrupted'), 0)
  return turn
}

function streamedSoFar(
  event: TurnEvent,
  { last, mayHaveLost }: FoundStream,
  partial: FoundStream['partial'],
): StreamedSoFar {
  const streamed = streamedContentOf(event)
  if (!streamed || mayHaveLost || streamed.streamedTo === 0) return NOTHING_STREAMED
  if (streamed.streamedTo <= last) return 'all'
  return partial?.id === streamed.answerId && hasPrefix(streamed, partial) ? partial : NOTHING_STREAMED
}
