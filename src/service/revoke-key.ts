import { parseId } from '../core/id.ts'
import type { ApiKey } from '../core/people.ts'
import { Problem } from '../core/problem.ts'
import { entryOf, organizationFor } from './audit.ts'
import type { Desk } from './desk.ts'

/** From now on the key opens nothing; what it holds open ends within a second, in every process. */
export async function revokeKey(
  { id: text, organizationId: named }: { id: string; organizationId?: string },
  desk: Desk,
): Promise<ApiKey> {
  const organizationId = await organizationFor(named, desk)
  const id = parseId('key', text)
  const audit = entryOf({ verb: 'key.revoke', object: text, organizationId }, desk)
  const key = id && (await desk.world.store.keys.revoke(organizationId, id, audit))
  if (key) return key
  throw new Problem('not-found', `There is no key ${text.slice(0, 80)}.`)
}
