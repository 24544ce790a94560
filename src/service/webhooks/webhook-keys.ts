import type { Webhook } from '../../core/webhook.ts'
import { signingKeys, type WebhookKeys } from '../../core/webhook-secret.ts'
import { webhookSigningKeys } from '../people/webhook-secret.ts'
import type { ServiceContext } from '../service-context.ts'

/** The keys that sign now: those of the webhook, or of the organization for the callback of a run. */
export async function signingKeysOf(webhook: Webhook | undefined, context: ServiceContext): Promise<string[]> {
  if (!webhook) return webhookSigningKeys(context)
  const keys = openWebhookKeys(webhook, context)
  if (!keys) throw new Error(`the secret of ${webhook.id} cannot be decrypted with the key of this home`)
  return signingKeys(keys, context.deps.clock.now())
}

export function openWebhookKeys(
  { id, sealed }: Pick<Webhook, 'id' | 'sealed'>,
  { secretKeys }: ServiceContext,
): WebhookKeys | undefined {
  const text = secretKeys.box.open(sealed, id)
  return text === undefined ? undefined : (JSON.parse(text) as WebhookKeys)
}
