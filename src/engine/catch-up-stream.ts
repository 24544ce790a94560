import { type Chunk, renderEvent } from '../core/chunk.ts'
import type { LoggedEvent } from '../core/event.ts'
import { apply, newTurn, type Turn } from '../core/turn.ts'
import type { RunStream } from '../ports/streams.ts'

/**
 * Writes what a former writer committed and did not live to tell: the chunks of committed events, terminal ones
 * included, and a reset for text that no event accounts for. Returns the turn those events fold to.
 */
export function catchUpStream(events: readonly LoggedEvent[], stream: RunStream): Turn {
  const first = events[0]?.event
  if (first?.type !== 'input-accepted') throw new Error('a run log must begin with input-accepted')
  const { lastEvent, last, mayHaveLost } = stream.found
  let { dangling } = stream.found

  const reset = (reason: string): Chunk[] => {
    const chunks: Chunk[] = dangling ? [{ message_type: 'message_reset', id: dangling, reason }] : []
    dangling = undefined
    return chunks
  }
  if (mayHaveLost) stream.write([{ message_type: 'message_reset', id: null, reason: 'numbers-lost' }], 0)

  let turn = newTurn(first)
  for (const { seq, event } of events.slice(1)) {
    if (seq > lastEvent && !stream.found.ended) {
      const isAnswer = event.type === 'answer-received' || event.type === 'answer-cut'
      const wasStreamed = isAnswer && event.streamedTo > 0 && event.streamedTo <= last && !mayHaveLost
      // Its deltas are complete: the text is accounted for.
      if (isAnswer && wasStreamed && dangling === event.answerId) dangling = undefined
      const chunks = renderEvent(turn, event, { wasStreamed })
      if (chunks.length > 0) stream.write([...reset('interrupted'), ...chunks], seq)
    }
    turn = apply(turn, event)
  }
  if (turn.phase === 'going') stream.write(reset('interrupted'), 0)
  return turn
}
