import { DEFAULT_ORGANIZATION, parseId } from '../../core/id.ts'
import { isOperator, type Organization, type User } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import type { ServiceContext } from '../service-context.ts'
import { newAuditEntry } from './audit.ts'
import { organizationFor } from './organization-for.ts'

/** What the server began with, and what its own key administers. */
const DEFAULT_ORGANIZATION_RECORD: Organization = { id: DEFAULT_ORGANIZATION, name: 'default', createdAt: 0 }

export async function createOrganization(
  { name: wish }: { name: string },
  context: ServiceContext,
): Promise<Organization> {
  const { randomness, clock, store } = context.deps
  if (!isOperator(context.caller))
    throw new Problem('invalid', 'Only an administrator of the default organization makes others.')
  const name = requireName(wish)
  const organization: Organization = { id: `org-${randomness.uuid()}`, name, createdAt: clock.now() }
  const audit = newAuditEntry({ verb: 'organization.create', object: organization.id }, context)
  const made =
    name === DEFAULT_ORGANIZATION_RECORD.name
      ? 'name-taken'
      : await store.people.createOrganization(organization, audit)
  if (made === 'created') return organization
  throw new Problem('conflict', `There is an organization named ${name} already.`)
}

/** All of them for an operator; others see their own. */
export async function listOrganizations(context: ServiceContext): Promise<Organization[]> {
  const all = [DEFAULT_ORGANIZATION_RECORD, ...(await context.deps.store.people.listOrganizations())]
  return isOperator(context.caller) ? all : all.filter(({ id }) => id === context.organizationId)
}

/** The caller's own organization, unless an operator names another. */
type InOrganization = { organizationId?: string }

export async function createUser(
  { name: wish, organizationId: named }: InOrganization & { name: string },
  context: ServiceContext,
) {
  const { randomness, clock, store } = context.deps
  const name = requireName(wish)
  const organizationId = await organizationFor(named, context)
  const user: User = { id: `user-${randomness.uuid()}`, organizationId, name, createdAt: clock.now() }
  const audit = newAuditEntry({ verb: 'user.create', object: user.id, organizationId }, context)
  if ((await store.people.createUser(user, audit)) === 'created') return user
  throw new Problem('conflict', `There is a user named ${name} already.`)
}

export async function listUsers({ organizationId }: InOrganization, context: ServiceContext): Promise<User[]> {
  return context.deps.store.people.listUsers(await organizationFor(organizationId, context))
}

/** The user and all of its keys: what they hold open ends within a second. */
export async function deleteUser(
  { id: text, organizationId: named }: InOrganization & { id: string },
  context: ServiceContext,
) {
  const organizationId = await organizationFor(named, context)
  const id = parseId('user', text)
  const audit = newAuditEntry({ verb: 'user.delete', object: text, organizationId }, context)
  if (id && (await context.deps.store.people.deleteUser(organizationId, id, audit))) return
  throw new Problem('not-found', `There is no user ${text.slice(0, 80)}.`)
}

const LONGEST_NAME = 200

export function requireName(text: string): string {
  const name = text.trim()
  if (name === '') throw new Problem('invalid', 'A name is needed, so that people know what it is for.')
  if (name.length > LONGEST_NAME) throw new Problem('invalid', `A name has at most ${LONGEST_NAME} characters.`)
  return name
}
