import type { BlockId } from '../id.ts'
import type { Invariant } from './record.ts'

/** The versions of a block whose values are kept, oldest first, beside its present one. */
export type BlockHistoryRecord = { id: BlockId; version: number; replaced: readonly number[] }

export const changesAreKept: Invariant<BlockHistoryRecord> = {
  id: 'I40',
  name: 'changes-are-kept',
  sentence:
    'Each change of a memory block has left the value before it: the kept versions are consecutive up to the present one.',
  promise: 'nothing is lost',
  check({ version, replaced }) {
    const [oldest] = replaced
    // A block may be older than its history, and old versions are removed.
    if (oldest === undefined) return []
    const faults = replaced.flatMap((one, index) => (one === oldest + index ? [] : [`version ${one} follows a gap`]))
    const newest = replaced.at(-1)!
    return newest === version - 1
      ? faults
      : [...faults, `version ${newest} is the last one kept before version ${version}`]
  },
}
