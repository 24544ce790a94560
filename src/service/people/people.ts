import { DEFAULT_ORGANIZATION, parseId } from '../../core/id.ts'
import { isOperator, type Organization, type User } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import type { Desk } from '../desk.ts'
import { entryOf } from './audit.ts'
import { organizationFor } from './organization-for.ts'

/** What the server began with, and what its own key administers. */
const FIRST: Organization = { id: DEFAULT_ORGANIZATION, name: 'default', createdAt: 0 }

export async function createOrganization({ name: wish }: { name: string }, desk: Desk): Promise<Organization> {
  const { randomness, clock, store } = desk.world
  if (!isOperator(desk.caller))
    throw new Problem('invalid', 'Only an administrator of the default organization makes others.')
  const name = requireName(wish)
  const organization: Organization = { id: `org-${randomness.uuid()}`, name, createdAt: clock.now() }
  const audit = entryOf({ verb: 'organization.create', object: organization.id }, desk)
  const made = name === FIRST.name ? 'name-taken' : await store.people.createOrganization(organization, audit)
  if (made === 'created') return organization
  throw new Problem('conflict', `There is an organization named ${name} already.`)
}

/** All of them for an operator; others see their own. */
export async function listOrganizations(desk: Desk): Promise<Organization[]> {
  const all = [FIRST, ...(await desk.world.store.people.listOrganizations())]
  return isOperator(desk.caller) ? all : all.filter(({ id }) => id === desk.organizationId)
}

/** The caller's own organization, unless an operator names another. */
type Where = { organizationId?: string }

export async function createUser({ name: wish, organizationId: named }: Where & { name: string }, desk: Desk) {
  const { randomness, clock, store } = desk.world
  const name = requireName(wish)
  const organizationId = await organizationFor(named, desk)
  const user: User = { id: `user-${randomness.uuid()}`, organizationId, name, createdAt: clock.now() }
  const audit = entryOf({ verb: 'user.create', object: user.id, organizationId }, desk)
  if ((await store.people.createUser(user, audit)) === 'created') return user
  throw new Problem('conflict', `There is a user named ${name} already.`)
}

export async function listUsers({ organizationId }: Where, desk: Desk): Promise<User[]> {
  return desk.world.store.people.listUsers(await organizationFor(organizationId, desk))
}

/** The user and all of its keys: what they hold open ends within a second. */
export async function deleteUser({ id: text, organizationId: named }: Where & { id: string }, desk: Desk) {
  const organizationId = await organizationFor(named, desk)
  const id = parseId('user', text)
  const audit = entryOf({ verb: 'user.delete', object: text, organizationId }, desk)
  if (id && (await desk.world.store.people.deleteUser(organizationId, id, audit))) return
  throw new Problem('not-found', `There is no user ${text.slice(0, 80)}.`)
}

const LONGEST_NAME = 200

export function requireName(text: string): string {
  const name = text.trim()
  if (name === '') throw new Problem('invalid', 'A name is needed, so that people know what it is for.')
  if (name.length > LONGEST_NAME) throw new Problem('invalid', `A name has at most ${LONGEST_NAME} characters.`)
  return name
}
