import { DEFAULT_ORGANIZATION, type OrganizationId, parseId } from '../../core/id.ts'
import { isOperator } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import type { ServiceContext } from '../service-context.ts'

/** The organization a request is about: the caller's own, unless an operator names another. */
export async function organizationFor(named: string | undefined, context: ServiceContext): Promise<OrganizationId> {
  if (named === undefined || named === context.organizationId) return context.organizationId
  const id = parseId('org', named)
  const isKnown =
    id !== undefined &&
    isOperator(context.caller) &&
    (id === DEFAULT_ORGANIZATION || (await context.deps.store.people.getOrganization(id)) !== undefined)
  if (isKnown) return id
  throw new Problem('not-found', `There is no organization "${named.slice(0, 80)}".`)
}
