import type { WebhookId } from '../../core/id.ts'
import { isOperator, principalOf } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import { MAX_WEBHOOKS, type Webhook, type WebhookEvent } from '../../core/webhook.ts'
import { KEY_OVERLAP_MS, type WebhookKeys } from '../../core/webhook-secret.ts'
import type { DeliveryFilter, StoredDelivery } from '../../ports/webhook-store.ts'
import type { ServiceContext } from '../service-context.ts'
import { makeKey } from './make-key.ts'
import { openWebhookKeys } from './webhook-keys.ts'

export type NewWebhook = { url: string; events: WebhookEvent[]; name?: string }

const MAX_NAME = 200

/** The secret is returned here and never again. */
export async function createWebhook(
  { url, events, name = '' }: NewWebhook,
  context: ServiceContext,
): Promise<{ webhook: Webhook; secret: string }> {
  const { deps, caller, organizationId, outbound, secretKeys } = context
  const trust = isOperator(caller) ? 'configured' : 'public'
  const fault = outbound.addressFault(url, trust)
  if (fault) throw new Problem('invalid', `url cannot be called: ${fault}.`)
  const id: WebhookId = `webhook-${deps.randomness.uuid()}`
  const secret = makeKey(deps)
  const webhook: Webhook = {
    id,
    organizationId,
    url,
    trust,
    name: name.slice(0, MAX_NAME),
    events: [...new Set(events)],
    sealed: secretKeys.box.seal(JSON.stringify({ current: secret } satisfies WebhookKeys), id),
    state: 'active',
    createdBy: principalOf(caller),
    createdAt: deps.clock.now(),
  }
  if ((await deps.store.webhooks.create(webhook, MAX_WEBHOOKS)) === 'created') return { webhook, secret }
  throw new Problem('queue-full', `This organization has ${MAX_WEBHOOKS} webhooks, which is the limit. Delete some.`)
}

export const listWebhooks = ({ deps, organizationId }: ServiceContext): Promise<Webhook[]> =>
  deps.store.webhooks.list(organizationId)

export async function requireWebhook(id: WebhookId, { deps, organizationId }: ServiceContext): Promise<Webhook> {
  const found = await deps.store.webhooks.get(organizationId, id)
  if (found) return found
  throw noWebhook(id)
}

const noWebhook = (id: WebhookId) => new Problem('not-found', `There is no webhook "${id}".`)

async function edit(id: WebhookId, change: (webhook: Webhook) => Webhook, context: ServiceContext): Promise<Webhook> {
  const edited = await context.deps.store.webhooks.edit({ organizationId: context.organizationId, id }, change)
  if (edited) return edited
  throw noWebhook(id)
}

/** Events of the pause are kept as failed deliveries. */
export const pauseWebhook = (id: WebhookId, context: ServiceContext): Promise<Webhook> =>
  edit(id, ({ stateReason: _, ...webhook }) => ({ ...webhook, state: 'paused' }), context)

/** Also after days of failures have disabled it. */
export const resumeWebhook = (id: WebhookId, context: ServiceContext): Promise<Webhook> =>
  edit(
    id,
    ({ stateReason: _, failingSince: __, restUntil: ___, ...webhook }) => ({ ...webhook, state: 'active' }),
    context,
  )

/** The key before signs too for a day. */
export async function replaceWebhookSecret(
  id: WebhookId,
  context: ServiceContext,
): Promise<{ secret: string; previousUntil: number }> {
  const { deps, secretKeys } = context
  const secret = makeKey(deps)
  const previousUntil = deps.clock.now() + KEY_OVERLAP_MS
  await edit(
    id,
    (webhook) => {
      const previous = openWebhookKeys(webhook, context)?.current
      const keys: WebhookKeys = previous ? { current: secret, previous, previousUntil } : { current: secret }
      return { ...webhook, sealed: secretKeys.box.seal(JSON.stringify(keys), id) }
    },
    context,
  )
  return { secret, previousUntil }
}

export async function deleteWebhook(id: WebhookId, { deps, organizationId }: ServiceContext): Promise<void> {
  if (!(await deps.store.webhooks.delete({ organizationId, id }))) throw noWebhook(id)
}

export async function testWebhook(id: WebhookId, context: ServiceContext): Promise<StoredDelivery> {
  const { clock, randomness, store } = context.deps
  const webhook = await requireWebhook(id, context)
  if (webhook.state !== 'active') throw new Problem('conflict', `The webhook is ${webhook.state}. Resume it first.`)
  return store.webhooks.addTest(webhook, { eventId: `test-${randomness.uuid()}`, at: clock.now() })
}

export async function listDeliveries(
  filter: DeliveryFilter,
  page: { limit: number; before?: number },
  context: ServiceContext,
): Promise<StoredDelivery[]> {
  if (filter.webhookId) await requireWebhook(filter.webhookId, context)
  return context.deps.store.webhooks.deliveries(context.organizationId, filter, page)
}

/** Sends it again, with all its attempts and the same id. */
export async function redeliver(number: number, context: ServiceContext): Promise<StoredDelivery> {
  const { deps, organizationId } = context
  const { webhooks } = deps.store
  const found = await webhooks.delivery(organizationId, number)
  const webhook = found?.webhookId && (await webhooks.get(organizationId, found.webhookId))
  if (webhook && webhook.state !== 'active')
    throw new Problem('conflict', `The webhook ${webhook.id} is ${webhook.state}. Resume it first.`)
  const due = found && (await webhooks.redeliver(organizationId, number, deps.clock.now()))
  if (due) return due
  throw new Problem('not-found', `There is no delivery "${number}". Deliveries are kept for 30 days.`)
}

/** How late the oldest attempt is that is due, of all organizations. */
export async function webhookLateness({ deps }: ServiceContext): Promise<number> {
  const due = await deps.store.webhooks.nextDue()
  return due === undefined ? 0 : Math.max(0, deps.clock.now() - due)
}
