import { Problem } from '../core/problem.ts'
import type { Desk } from '../service/desk.ts'
import { listOrganizations } from '../service/people/people.ts'

/** The organisation a person means, by name or id; nothing where none is meant. */
export async function namedOrganization(named: string | undefined, desk: Desk): Promise<{ organizationId?: string }> {
  if (named === undefined) return {}
  const found = (await listOrganizations(desk)).find(({ id, name }) => id === named || name === named)
  if (found) return { organizationId: found.id }
  throw new Problem('not-found', `There is no organization "${named}". \`holdfast organizations\` lists them.`)
}
