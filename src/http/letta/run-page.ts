import { z } from 'zod'
import { parseId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { RunPage } from '../../ports/store.ts'
import type { Desk } from '../../service/desk.ts'
import { findRun } from '../../service/runs/runs.ts'
import { findStep } from '../../service/runs/steps.ts'
import { limit } from '../field.ts'
import { cursors } from '../paging.ts'

/** The pagination of runs and steps. */
export const stepQuery = z.object({ ...cursors, limit: limit(100) })

type Query = z.output<typeof stepQuery>

/** A client's cursors follow the order of its list; those of the store follow time. */
export function chronological({ after, before, limit: most, order }: Query): RunPage {
  const isAscending = order === 'asc'
  const [newer, older] = isAscending ? [after, before] : [before, after]
  // The items next to the cursor: for `before` they are read from it, backwards.
  const isFromOldest = before === undefined ? isAscending : !isAscending
  return {
    limit: most,
    order: isFromOldest ? 'oldest-first' : 'newest-first',
    ...(newer === undefined ? {} : { after: newer }),
    ...(older === undefined ? {} : { before: older }),
  }
}

export const inOrder = <T>(items: T[], { before }: Query): T[] => (before === undefined ? items : items.toReversed())

export async function requireStepCursors({ after, before }: Query, desk: Desk): Promise<void> {
  for (const cursor of [after, before]) {
    if (cursor === undefined) continue
    const id = parseId('step', cursor)
    if (!id || !(await findStep(id, desk))) throw new Problem('not-found', `there is no step ${cursor.slice(0, 80)}`)
  }
}

export async function requireRunCursors({ after, before }: Query, desk: Desk): Promise<void> {
  for (const cursor of [after, before]) {
    if (cursor === undefined) continue
    const id = parseId('run', cursor)
    if (!id || !(await findRun(id, desk))) throw new Problem('not-found', `there is no run ${cursor.slice(0, 80)}`)
  }
}
