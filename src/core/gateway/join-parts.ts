import type { InboundRow } from './inbound.ts'

/** A text of this length was probably cut by the platform, which cuts at 4,096. */
export const CUT_LENGTH = 4_000
/** How long the next part of a cut text, or the next photo of an album, may take. */
export const HOLD_MS = { cutText: 1_500, album: 700 } as const
/** A message never waits longer for its parts. */
const LONGEST_HOLD_MS = 7_500
const MOST_PARTS = 12

type Part = Pick<InboundRow, 'number' | 'head' | 'senderId' | 'dueAt' | 'receivedAt' | 'kind'> & {
  isCut: boolean
  album: string | undefined
}

/**
 * The parts of the message that begins with the first row of a lane. `waitMs`: another part may still come. A row that was
 * joined before stays joined: the same message reaches the agent, also after a restart.
 */
export function partsOf(rows: readonly Part[], now: number): { parts: Part[]; waitMs: number } {
  const [first, ...others] = rows
  if (!first) return { parts: [], waitMs: 0 }
  if (first.head !== undefined) return { parts: rows.filter(({ head }) => head === first.head), waitMs: 0 }
  const parts = [first]
  for (const next of others) {
    const last = parts.at(-1)!
    if (next.kind !== 'message' || next.head !== undefined || parts.length >= MOST_PARTS) break
    if (next.senderId !== first.senderId) break
    const belongs = last.isCut || (last.album !== undefined && last.album === next.album)
    if (!belongs) break
    parts.push(next)
  }
  const last = parts.at(-1)!
  const isOpen = (last.isCut || last.album !== undefined) && parts.length < MOST_PARTS && parts.length === rows.length
  const until = Math.min(last.dueAt, first.receivedAt + LONGEST_HOLD_MS)
  return { parts, waitMs: isOpen ? Math.max(0, until - now) : 0 }
}
