import { scopeCovers } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import type { ServiceContext } from '../service-context.ts'

/** `what` is the beginning of a sentence: what the caller may not do. */
export function requireToolsRight(what: string, { caller }: ServiceContext): void {
  if (scopeCovers(caller.scope, 'tools')) return
  throw new Problem('forbidden', `This key has the scope "${caller.scope}"; ${what} needs "tools".`)
}
