import { z } from 'zod'
import { deliveryState, WEBHOOK_EVENT_NAMES, type Webhook } from '../../../core/webhook.ts'
import type { StoredDelivery } from '../../../ports/webhook-store.ts'

const time = (at: number | undefined) => (at === undefined ? null : new Date(at).toISOString())

const webhookFields = {
  id: z.string(),
  url: z.string(),
  name: z.string(),
  events: z.array(z.enum(WEBHOOK_EVENT_NAMES)),
  state: z.enum(['active', 'paused', 'disabled']).describe('`disabled`: by three days of failures.'),
  state_reason: z.string().nullable().describe('Why it is disabled.'),
  failing_since: z.string().nullable().describe('Since when no delivery has succeeded.'),
  created_by: z.string().describe('The key that created it, `home` or `command-line`.'),
  created_at: z.string(),
}

export const webhookSchema = z.lazy(() =>
  z.object(webhookFields).meta({ id: 'Webhook', description: 'An address that is told of events.' }),
)

export const newWebhookSchema = z.lazy(() =>
  z
    .object({
      ...webhookFields,
      secret: z.string().describe('The key that signs: `whsec_` and base64. No other response contains it.'),
    })
    .meta({ id: 'NewWebhook', description: 'A new webhook with its secret.' }),
)

export const wireWebhook = (webhook: Webhook): z.output<typeof webhookSchema> => ({
  id: webhook.id,
  url: webhook.url,
  name: webhook.name,
  events: webhook.events,
  state: webhook.state,
  state_reason: webhook.stateReason ?? null,
  failing_since: time(webhook.failingSince),
  created_by: webhook.createdBy.actor,
  created_at: new Date(webhook.createdAt).toISOString(),
})

export const deliverySchema = z.lazy(() =>
  z
    .object({
      number: z.int().describe('Names the delivery.'),
      webhook_id: z.string().nullable().describe('Null: the `callback_url` of a run.'),
      event_id: z.string().describe('`webhook-id` of the request, the same in every retry.'),
      type: z.string().describe('The event, `callback` or `webhook.test`.'),
      agent_id: z.string().nullable(),
      run_id: z.string().nullable(),
      state: z.enum(['due', 'delivered', 'failed']),
      attempts: z.int(),
      next_attempt_at: z.string().nullable(),
      answered_at: z.string().nullable().describe('When the receiver last answered.'),
      status_code: z.int().nullable().describe('HTTP status of that answer.'),
      error: z.string().nullable(),
      delivered_at: z.string().nullable(),
      created_at: z.string(),
    })
    .meta({ id: 'WebhookDelivery', description: 'An event for one receiver, and what became of it.' }),
)

export const wireDelivery = (delivery: StoredDelivery): z.output<typeof deliverySchema> => ({
  number: delivery.number,
  webhook_id: delivery.webhookId ?? null,
  event_id: delivery.eventId,
  type: delivery.type,
  agent_id: delivery.agentId ?? null,
  run_id: delivery.runId ?? null,
  state: deliveryState(delivery),
  attempts: delivery.tries,
  next_attempt_at: time(delivery.dueAt),
  answered_at: time(delivery.sentAt),
  status_code: delivery.statusCode ?? null,
  error: delivery.error ?? null,
  delivered_at: time(delivery.deliveredAt),
  created_at: new Date(delivery.createdAt).toISOString(),
})
