import type { CredentialId } from '../core/credential.ts'
import type { Refreshed } from '../ports/credentials.ts'
import { type CredentialDesk, findCredential } from './credential-desk.ts'

export type RefreshCredential = { idOrLabel: string; signal: AbortSignal }

/** Renews a credential now, whatever it is worth; whoever renews it at the same time shares the result. */
export async function refreshCredential(
  { idOrLabel, signal }: RefreshCredential,
  desk: CredentialDesk,
): Promise<{ id: CredentialId; refreshed: Refreshed }> {
  const { id } = await findCredential(idOrLabel, desk)
  // No secret failed, so whatever is there is renewed.
  return { id, refreshed: await desk.world.credentials.refresh(id, { failedSecret: '', signal }) }
}
