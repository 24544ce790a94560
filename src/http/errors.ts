import { Problem, type ProblemKind } from '../core/problem.ts'
import { StorageError } from '../ports/storage-error.ts'

export type ErrorAnswer = { status: number; body: Record<string, unknown>; headers?: Record<string, string> }

/** How a surface encodes each kind of problem: one table per surface, so that handlers only throw. */
export type ErrorTable = Record<ProblemKind, (problem: Problem) => ErrorAnswer>

/** The body of a refusal by the server itself: without a key, over a limit, of a path that does not exist. */
export type RefusalBody = (detail: string, status: number) => Record<string, unknown>

export const plainRefusal: RefusalBody = (detail) => ({ detail })

/** The error answer to a thrown value; undefined for a bug, whose details are not sent to the client. */
export function toErrorAnswer(fault: unknown, table: ErrorTable): ErrorAnswer | undefined {
  if (fault instanceof Problem) return table[fault.kind](fault)
  if (fault instanceof StorageError)
    return table.unavailable(new Problem('unavailable', 'The database is not available. Try again in a moment.'))
  return undefined
}
