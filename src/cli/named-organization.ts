import { listOrganizations } from '../service/people/people.ts'
import type { ServiceContext } from '../service/service-context.ts'
import { pickOne } from './pick-one.ts'

/** The organization a person names, by name, id or the beginning of an id; `{}` without a name. */
export async function namedOrganization(
  named: string | undefined,
  context: ServiceContext,
): Promise<{ organizationId?: string }> {
  if (named === undefined) return {}
  const all = await listOrganizations(context)
  return { organizationId: pickOne(all, named, { prefix: 'org', noun: 'organization', lister: 'organizations' }).id }
}
