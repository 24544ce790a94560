import { Problem, type ProblemKind } from '../core/problem.ts'
import { StorageError } from '../ports/storage-error.ts'

export type ErrorAnswer = { status: number; body: Record<string, unknown>; headers?: Record<string, string> }

/** How a surface tells each kind of problem: one table per surface, so that a handler only has to throw. */
export type ErrorTable = Record<ProblemKind, (problem: Problem) => ErrorAnswer>

/** The answer to a fault; undefined for a bug of this server, of which a caller is told nothing. */
export function toErrorAnswer(fault: unknown, table: ErrorTable): ErrorAnswer | undefined {
  if (fault instanceof Problem) return table[fault.kind](fault)
  if (fault instanceof StorageError)
    return table.unavailable(
      new Problem('unavailable', 'The store cannot be used at the moment. Try again in a moment.'),
    )
  return undefined
}
