import { randomUUID } from 'node:crypto'
import type { Randomness } from '../ports/randomness.ts'

export const realRandomness: Randomness = { uuid: timeOrderedUuid, fraction: Math.random }

/**
 * A uuid in the format of version 4, whose first 48 bits are the time: ids created together are adjacent in an index,
 * so a commit touches fewer pages (see decisions/005). 74 random bits are left; no code reads the time back.
 */
function timeOrderedUuid(): string {
  const now = Date.now()
  if (now !== lastMs) {
    const time = now.toString(16).padStart(12, '0')
    lastMs = now
    lastPrefix = `${time.slice(0, 8)}-${time.slice(8)}-`
  }
  return lastPrefix + randomUUID().slice(14)
}

/** The prefix of the current millisecond, formatted once for all its ids. */
let lastMs = 0
let lastPrefix = ''
