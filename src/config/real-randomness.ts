import { randomUUID } from 'node:crypto'
import type { Randomness } from '../ports/randomness.ts'

export const realRandomness: Randomness = { uuid: timeOrderedUuid, fraction: Math.random }

/**
 * A uuid of version 4 in shape, whose first 48 bits are the time: ids made together lie together in an index, so a
 * commit touches fewer pages (see decisions/005). 74 bits of chance are left; nothing reads the time back.
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

/** Many ids are made in one millisecond; its digits are put together once. */
let lastMs = 0
let lastPrefix = ''
