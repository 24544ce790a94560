import { defined } from '../../core/defined.ts'
import { Problem } from '../../core/problem.ts'
import type { Clock } from '../../ports/clock.ts'
import type { SealedSecret } from '../../ports/credential-store.ts'
import type { SecretKeys } from '../../ports/secret-box.ts'
import type { Store } from '../../ports/store.ts'

/** The part of the service context that the rotation uses. */
type RotationContext = {
  secretKeys: SecretKeys
  deps: {
    store: Pick<Store, 'credentials' | 'mcpServers' | 'agents' | 'webhookSecrets' | 'webhooks' | 'hooks'>
    clock: Pick<Clock, 'sleep'>
  }
}

const PAGE = 100
/** Time for another process to commit what it encrypted with the old key just before the change. */
const GRACE_MS = 2_000

/**
 * Creates a new key for the home, encrypts every secret with it and drops the old keys. An interrupted rotation leaves
 * every key that is still needed in the file, and the next rotation completes it.
 */
export async function rotateSecretKey({ secretKeys: keys, deps }: RotationContext): Promise<{ resealed: number }> {
  const { store, clock } = deps
  const old = keys.addKey()
  const resealEach = async () =>
    (await resealAll(keys, store.credentials)) +
    (await resealAll(keys, store.mcpServers)) +
    (await resealAll(keys, store.agents)) +
    (await resealAll(keys, store.webhookSecrets)) +
    (await resealAll(keys, store.webhooks)) +
    (await resealAll(keys, store.hooks))
  let resealed = await resealEach()
  for (let late = 1; late > 0; resealed += late) {
    await clock.sleep(GRACE_MS)
    late = await resealEach()
  }
  keys.dropKeys(old)
  return { resealed }
}

type SealedRows<Id extends string> = {
  sealedPage(after: number, limit: number): Promise<{ number: number; id: Id; sealed: SealedSecret }[]>
  reseal(id: Id, from: SealedSecret, to: SealedSecret): Promise<boolean>
}

/** Returns the number of rows that were not encrypted with the current key. */
async function resealAll<Id extends string>(keys: SecretKeys, rows: SealedRows<Id>): Promise<number> {
  let found = 0
  let after = 0
  for (;;) {
    const page = await rows.sealedPage(after, PAGE)
    for (const { id, sealed } of page) {
      if (isCurrent(keys, sealed)) continue
      found++
      // A row that changed in the meantime is found by the next pass.
      await rows.reseal(id, sealed, resealWithCurrentKey(keys, id, sealed))
    }
    if (page.length < PAGE) return found
    after = page.at(-1)!.number
  }
}

const isCurrent = (keys: SecretKeys, { secret, refreshToken }: SealedSecret): boolean =>
  keys.isCurrent(secret) && (refreshToken === undefined || keys.isCurrent(refreshToken))

function resealWithCurrentKey({ box }: SecretKeys, id: string, { secret, refreshToken }: SealedSecret): SealedSecret {
  const reseal = (sealed: string): string => {
    const plain = box.open(sealed, id)
    // Throw before the old keys are dropped: one of them may decrypt this once the right key file is restored.
    if (plain === undefined)
      throw new Problem(
        'conflict',
        `The secret of ${id} cannot be decrypted with the keys of this home, so no key was dropped. Restore the key ` +
          `file it was encrypted with, or remove ${id}, and rotate again.`,
        { credential: id },
      )
    return box.seal(plain, id)
  }
  return {
    secret: reseal(secret),
    ...defined({ refreshToken: refreshToken === undefined ? undefined : reseal(refreshToken) }),
  }
}
