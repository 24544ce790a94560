import type { OrganizationId } from '../../core/id.ts'
import { KEY_OVERLAP_MS, signingKeys, type WebhookKeys, type WebhookSecretId } from '../../core/webhook-secret.ts'
import type { ServiceContext } from '../service-context.ts'
import { makeKey } from '../webhooks/make-key.ts'
import { newAuditEntry } from './audit.ts'
import { organizationFor } from './organization-for.ts'

/** Creates the key that signs the webhooks of an organization, or replaces it. It is returned here and never again. */
export async function newWebhookSecret(
  { organizationId: named }: { organizationId?: string },
  context: ServiceContext,
): Promise<{ key: string; createdAt: number; previousUntil: number | undefined }> {
  const { clock, randomness, store } = context.deps
  const organizationId = await organizationFor(named, context)
  const before = await openKeys(organizationId, context)
  const key = makeKey(context.deps)
  const id: WebhookSecretId = `whs-${randomness.uuid()}`
  const createdAt = clock.now()
  const previousUntil = before && createdAt + KEY_OVERLAP_MS
  const keys: WebhookKeys =
    before && previousUntil ? { current: key, previous: before.current, previousUntil } : { current: key }
  const sealed = context.secretKeys.box.seal(JSON.stringify(keys), id)
  const audit = newAuditEntry({ verb: 'webhook-secret.replace', object: id, organizationId }, context)
  await store.webhookSecrets.replace({ id, organizationId, sealed, createdAt }, audit)
  return { key, createdAt, previousUntil }
}

/** The keys that sign the webhooks of this organization now; none if it has no key. */
export async function webhookSigningKeys(context: ServiceContext): Promise<string[]> {
  const keys = await openKeys(context.organizationId, context)
  return keys ? signingKeys(keys, context.deps.clock.now()) : []
}

async function openKeys(
  organizationId: OrganizationId,
  { deps, secretKeys }: ServiceContext,
): Promise<WebhookKeys | undefined> {
  const secret = await deps.store.webhookSecrets.get(organizationId)
  const text = secret && secretKeys.box.open(secret.sealed, secret.id)
  return text === undefined ? undefined : (JSON.parse(text) as WebhookKeys)
}
