import { type Chunk, isBeginningOf, NOTHING_TOLD, renderEvent, streamedBy, type Told } from '../core/chunk.ts'
import type { LoggedEvent, TurnEvent } from '../core/event.ts'
import { apply, newTurn, type Turn } from '../core/turn.ts'
import type { FoundStream, RunStream } from '../ports/streams.ts'

/**
 * Writes what a former writer committed and did not live to tell: the rest of an answer, the chunks of committed events,
 * terminal ones included, and a reset for text that no event accounts for. Returns the turn those events fold to.
 */
export function catchUpStream(events: readonly LoggedEvent[], stream: RunStream): Turn {
  const first = events[0]?.event
  if (first?.type !== 'input-accepted') throw new Error('a run log must begin with input-accepted')
  const { found } = stream
  let { dangling } = found

  const reset = (reason: string): Chunk[] => {
    const chunks: Chunk[] = dangling ? [{ message_type: 'message_reset', id: dangling.id, reason }] : []
    dangling = undefined
    return chunks
  }
  if (found.mayHaveLost) stream.write([{ message_type: 'message_reset', id: null, reason: 'numbers-lost' }], 0)

  let turn = newTurn(first)
  for (const { seq, event } of events.slice(1)) {
    if (seq > found.lastEvent && !found.ended) {
      const told = toldOf(event, found, dangling)
      // What dangled is this answer, or its beginning: it is accounted for, and the rest follows.
      if (told !== NOTHING_TOLD && dangling?.id === streamedBy(event)?.answerId) dangling = undefined
      const chunks = renderEvent(turn, event, told)
      if (chunks.length > 0) stream.write([...reset('interrupted'), ...chunks], seq)
    }
    turn = apply(turn, event)
  }
  if (turn.phase === 'going') stream.write(reset('interrupted'), 0)
  return turn
}

function toldOf(event: TurnEvent, { last, mayHaveLost }: FoundStream, dangling: FoundStream['dangling']): Told {
  const streamed = streamedBy(event)
  if (!streamed || mayHaveLost || streamed.streamedTo === 0) return NOTHING_TOLD
  if (streamed.streamedTo <= last) return 'all'
  return dangling?.id === streamed.answerId && isBeginningOf(streamed, dangling) ? dangling : NOTHING_TOLD
}
