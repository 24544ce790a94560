import type { OrganizationId } from '../id.ts'
import type { Invariant } from './record.ts'

/** What is counted as stored for an organization, and what its rows have. */
export type StoredBytesRecord = { organizationId: OrganizationId; counted: number; actual: number }

export const storedBytesAreCounted: Invariant<StoredBytesRecord> = {
  id: 'I48',
  name: 'stored-bytes-are-counted',
  sentence: 'The bytes counted for each organization are those of its rows.',
  promise: 'nothing is hidden',
  check: ({ counted, actual }) =>
    counted === actual ? [] : [`${counted} bytes are counted, and its rows have ${actual}`],
}
