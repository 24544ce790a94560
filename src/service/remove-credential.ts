import type { Credential } from '../core/credential.ts'
import { type CredentialDesk, findCredential, withoutSecrets } from './credential-desk.ts'

/** Forgets a stored credential and what it rests for; answers with what was removed. */
export async function removeCredential(idOrLabel: string, desk: CredentialDesk): Promise<Credential> {
  const credential = await findCredential(idOrLabel, desk)
  await desk.world.store.credentials.remove(desk.organizationId, credential.id)
  return withoutSecrets(credential)
}
