import { parseId } from '../core/id.ts'
import type { ApiKey } from '../core/people.ts'
import { Problem } from '../core/problem.ts'
import { organizationFor } from './audit.ts'
import type { Desk } from './desk.ts'

/** Newest first, revoked ones included. */
export async function listKeys({ organizationId }: { organizationId?: string }, desk: Desk): Promise<ApiKey[]> {
  return desk.world.store.keys.list(await organizationFor(organizationId, desk))
}

export async function findKey(
  { id: text, organizationId }: { id: string; organizationId?: string },
  desk: Desk,
): Promise<ApiKey> {
  const id = parseId('key', text)
  const key = id && (await desk.world.store.keys.get(await organizationFor(organizationId, desk), id))
  if (key) return key
  throw new Problem('not-found', `There is no key ${text.slice(0, 80)}.`)
}
