import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { parseId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { RunPage } from '../../ports/store.ts'
import { findRun } from '../../service/runs/runs.ts'
import { findStep } from '../../service/runs/steps.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { limit } from '../field.ts'
import { cursors } from '../paging.ts'

/** The pagination of runs and steps. */
export const stepQuery = z.object({ ...cursors, limit: limit(100) })

type RunPageQuery = z.output<typeof stepQuery>

/** Converts a client's cursors, which follow the order of its list, to those of the store, which follow time. */
export function toRunPage({ after, before, limit: most, order }: RunPageQuery): RunPage {
  const isAscending = order === 'asc'
  const [newer, older] = isAscending ? [after, before] : [before, after]
  // With `before`, the page is read backwards from the cursor.
  const isFromOldest = before === undefined ? isAscending : !isAscending
  return {
    limit: most,
    order: isFromOldest ? 'oldest-first' : 'newest-first',
    ...defined({ after: newer, before: older }),
  }
}

export const inOrder = <T>(items: T[], { before }: RunPageQuery): T[] =>
  before === undefined ? items : items.toReversed()

export async function requireStepCursors({ after, before }: RunPageQuery, context: ServiceContext): Promise<void> {
  for (const cursor of [after, before]) {
    if (cursor === undefined) continue
    const id = parseId('step', cursor)
    if (!id || !(await findStep(id, context)))
      throw new Problem('not-found', `Unknown cursor "${cursor.slice(0, 80)}". Use the id of a step in this list.`)
  }
}

export async function requireRunCursors({ after, before }: RunPageQuery, context: ServiceContext): Promise<void> {
  for (const cursor of [after, before]) {
    if (cursor === undefined) continue
    const id = parseId('run', cursor)
    if (!id || !(await findRun(id, context)))
      throw new Problem('not-found', `Unknown cursor "${cursor.slice(0, 80)}". Use the id of a run in this list.`)
  }
}
