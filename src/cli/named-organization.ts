import { Problem } from '../core/problem.ts'
import { listOrganizations } from '../service/people/people.ts'
import type { ServiceContext } from '../service/service-context.ts'

/** The organization a person names, by name or id; `{}` without a name. */
export async function namedOrganization(
  named: string | undefined,
  context: ServiceContext,
): Promise<{ organizationId?: string }> {
  if (named === undefined) return {}
  const found = (await listOrganizations(context)).find(({ id, name }) => id === named || name === named)
  if (found) return { organizationId: found.id }
  throw new Problem('not-found', `There is no organization "${named}". \`holdfast organizations\` lists them.`)
}
