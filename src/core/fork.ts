import type { PositionedMessage } from './compaction.ts'
import { closedLength } from './history.ts'

type ForkPoint = {
  /** Messages below this position are copied. */
  end: number
  /** The first position in the context of the copy. */
  contextStart: number
}

/**
 * Where a copy of a conversation ends: at its newest message or at `upTo`, but never between a call and its results.
 * `view` is the context of the original, from `contextStart` on.
 */
export function forkPoint(view: readonly PositionedMessage[], contextStart: number, upTo?: number): ForkPoint {
  const wanted = upTo === undefined ? view.length : view.findLastIndex(({ position }) => position <= upTo) + 1
  const length = closedLengthNear(view, wanted)
  const end = length === 0 ? contextStart : view[length - 1]!.position + 1
  return { end, contextStart: Math.min(contextStartOf(view, length, contextStart), end) }
}

/** Calls are copied with their results; calls without results are left out. */
function closedLengthNear(view: readonly PositionedMessage[], wanted: number): number {
  for (let length = wanted; length <= view.length; length++)
    if (closedLength(view.slice(0, length).map(({ body }) => body)) === length) return length
  return closedLength(view.slice(0, wanted).map(({ body }) => body))
}

/** If a summary is not copied, the copied messages that it replaced are in the context again. */
function contextStartOf(view: readonly PositionedMessage[], length: number, contextStart: number): number {
  const missing = view.slice(length).find(({ body }) => body.role === 'summary')?.body
  if (missing?.role !== 'summary') return contextStart
  const kept = view.slice(0, length).findLast(({ body }) => body.role === 'summary')?.body
  return kept?.role === 'summary' ? kept.replaces.to + 1 : missing.replaces.from
}
