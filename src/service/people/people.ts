import { DEFAULT_ORGANIZATION, parseId } from '../../core/id.ts'
import { isOperator, type Organization, type User } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import type { ServiceContext } from '../service-context.ts'
import { newAuditEntry } from './audit.ts'
import { organizationFor } from './organization-for.ts'

/** Exists from the start, without a row; the home's own key administers it. */
const DEFAULT_ORGANIZATION_RECORD: Organization = { id: DEFAULT_ORGANIZATION, name: 'default', createdAt: 0 }

export async function createOrganization(
  { name: requestedName }: { name: string },
  context: ServiceContext,
): Promise<Organization> {
  const { randomness, clock, store } = context.deps
  if (!isOperator(context.caller))
    throw new Problem(
      'invalid',
      'Only operators (administrators of the default organization) can create organizations.',
    )
  const name = requireName(requestedName)
  const organization: Organization = { id: `org-${randomness.uuid()}`, name, createdAt: clock.now() }
  const audit = newAuditEntry({ verb: 'organization.create', object: organization.id }, context)
  const made =
    name === DEFAULT_ORGANIZATION_RECORD.name
      ? 'name-taken'
      : await store.people.createOrganization(organization, audit)
  if (made === 'created') return organization
  throw new Problem('conflict', `An organization named "${name}" already exists.`)
}

/** Operators see all organizations; other callers see their own. */
export async function listOrganizations(context: ServiceContext): Promise<Organization[]> {
  const all = [DEFAULT_ORGANIZATION_RECORD, ...(await context.deps.store.people.listOrganizations())]
  return isOperator(context.caller) ? all : all.filter(({ id }) => id === context.organizationId)
}

/** The caller's own organization, unless an operator names another. */
type InOrganization = { organizationId?: string }

export async function createUser(
  { name: requestedName, organizationId: named }: InOrganization & { name: string },
  context: ServiceContext,
) {
  const { randomness, clock, store } = context.deps
  const name = requireName(requestedName)
  const organizationId = await organizationFor(named, context)
  const user: User = { id: `user-${randomness.uuid()}`, organizationId, name, createdAt: clock.now() }
  const audit = newAuditEntry({ verb: 'user.create', object: user.id, organizationId }, context)
  if ((await store.people.createUser(user, audit)) === 'created') return user
  throw new Problem('conflict', `A user named "${name}" already exists.`)
}

export async function listUsers({ organizationId }: InOrganization, context: ServiceContext): Promise<User[]> {
  return context.deps.store.people.listUsers(await organizationFor(organizationId, context))
}

/** Deletes the user and all of its keys; their open requests end within a second. */
export async function deleteUser(
  { id: text, organizationId: named }: InOrganization & { id: string },
  context: ServiceContext,
) {
  const organizationId = await organizationFor(named, context)
  const id = parseId('user', text)
  const audit = newAuditEntry({ verb: 'user.delete', object: text, organizationId }, context)
  if (id && (await context.deps.store.people.deleteUser(organizationId, id, audit))) return
  throw new Problem('not-found', `There is no user "${text.slice(0, 80)}".`)
}

const MAX_NAME_LENGTH = 200

export function requireName(text: string): string {
  const name = text.trim()
  if (name === '') throw new Problem('invalid', 'The name must not be empty.')
  if (name.length > MAX_NAME_LENGTH)
    throw new Problem('invalid', `The name must have at most ${MAX_NAME_LENGTH} characters.`)
  return name
}
