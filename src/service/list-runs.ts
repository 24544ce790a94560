import type { RunId } from '../core/id.ts'
import type { Run } from '../core/run.ts'
import type { RunFilter, RunPage } from '../ports/store.ts'
import type { Desk } from './desk.ts'

export const listRunPage = (filter: RunFilter, page: RunPage, { world, organizationId }: Desk): Promise<Run[]> =>
  world.store.runs.list(organizationId, filter, page)

export const findRun = (id: RunId, { world, organizationId }: Desk): Promise<Run | undefined> =>
  world.store.runs.get(organizationId, id)
