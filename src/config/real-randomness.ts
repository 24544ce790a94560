import { randomUUID } from 'node:crypto'
import type { Randomness } from '../ports/randomness.ts'

export const realRandomness: Randomness = { uuid: neighbourlyUuid, fraction: Math.random }

/**
 * A uuid of version 4 in shape, whose first 48 bits are the time: ids made together lie together in an index, so a
 * commit touches fewer pages (see decisions/005). 74 bits of chance are left; nothing reads the time back.
 */
function neighbourlyUuid(): string {
  const time = Date.now().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-${randomUUID().slice(14)}`
}
