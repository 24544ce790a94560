import type { ImportObject } from '../import.ts'
import type { Invariant } from './record.ts'

/** The row of an imported object, and whether the row that it points to is there. */
export type ImportObjectRecord = {
  object: Pick<ImportObject, 'kind' | 'sourceId' | 'outcome' | 'targetId' | 'reason'>
  isThere: boolean
}

export const importedIsThere: Invariant<ImportObjectRecord> = {
  id: 'I36',
  name: 'imported-is-there',
  sentence: 'every object row of an import points to an existing row or has a reason',
  promise: 'nothing is lost',
  check({ object: { kind, sourceId, outcome, targetId, reason }, isThere }) {
    if (outcome !== 'imported') return reason ? [] : [`${kind} ${sourceId} is ${outcome} without a reason`]
    if (targetId === undefined) return [`${kind} ${sourceId} is imported and points to nothing`]
    return isThere ? [] : [`${kind} ${sourceId} points to ${targetId}, which does not exist`]
  },
}
