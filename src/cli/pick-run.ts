import type { RunId } from '../core/id.ts'
import type { ServiceContext } from '../service/service-context.ts'
import { completedId } from '../service/short-id.ts'

/** The whole id of a run; an unknown one is left to the verb, which says so. */
export const requireRunId = async (which: string, context: ServiceContext): Promise<RunId> =>
  (await completedId('run', which, context)) ?? (which as RunId)
