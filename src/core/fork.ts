import type { PositionedMessage } from './compaction.ts'
import { closedLength } from './history.ts'

type ForkPoint = {
  /** Everything below this position is copied. */
  end: number
  /** What the model of the copy is shown begins here. */
  contextStart: number
}

/**
 * Where a copy of a conversation ends: with its newest message, or with the one at `upTo`, but never between a call and
 * its results. `view` is what the model is shown of the original, from `contextStart` on.
 */
export function forkPoint(view: readonly PositionedMessage[], contextStart: number, upTo?: number): ForkPoint {
  const wanted = upTo === undefined ? view.length : view.findLastIndex(({ position }) => position <= upTo) + 1
  const length = closedLengthNear(view, wanted)
  const end = length === 0 ? contextStart : view[length - 1]!.position + 1
  return { end, contextStart: Math.min(contextStartOf(view, length, contextStart), end) }
}

/** Calls are taken with their results; calls that have none yet are left out. */
function closedLengthNear(view: readonly PositionedMessage[], wanted: number): number {
  for (let length = wanted; length <= view.length; length++)
    if (closedLength(view.slice(0, length).map(({ body }) => body)) === length) return length
  return closedLength(view.slice(0, wanted).map(({ body }) => body))
}

/** A summary that is not copied has replaced messages that are: the copy is as it was before it. */
function contextStartOf(view: readonly PositionedMessage[], length: number, contextStart: number): number {
  const missing = view.slice(length).find(({ body }) => body.role === 'summary')?.body
  if (missing?.role !== 'summary') return contextStart
  const kept = view.slice(0, length).findLast(({ body }) => body.role === 'summary')?.body
  return kept?.role === 'summary' ? kept.replaces.to + 1 : missing.replaces.from
}
