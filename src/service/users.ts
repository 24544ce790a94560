import { parseId } from '../core/id.ts'
import type { User } from '../core/people.ts'
import { Problem } from '../core/problem.ts'
import { entryOf, organizationFor } from './audit.ts'
import type { Desk } from './desk.ts'
import { requireName } from './organizations.ts'

/** One's own organisation, unless whoever runs the server names another. */
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
