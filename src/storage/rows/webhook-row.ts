import type { Webhook, WebhookDelivery } from '../../core/webhook.ts'
import { type RowOf, rowMapper } from './row-mapping.ts'

const WEBHOOK = rowMapper<Omit<Webhook, 'events' | 'createdBy' | 'name'>>()({
  id: 'id',
  organizationId: 'organization_id',
  url: 'url',
  trust: 'trust',
  sealed: 'sealed_secrets',
  state: 'state',
  stateReason: 'state_reason',
  failingSince: 'failing_since',
  restUntil: 'rest_until',
  createdAt: 'created_at',
})

/** `events` are the names with a space around each, which triggers search; `body` is JSON of all other fields. */
export type WebhookRow = RowOf<typeof WEBHOOK> & { events: string; body: string }

export const WEBHOOK_COLUMNS = [...WEBHOOK.columns, 'events', 'body'] as const

export const webhookRowOf = (webhook: Webhook): WebhookRow => ({
  ...WEBHOOK.rowOf(webhook),
  events: ` ${webhook.events.join(' ')} `,
  body: JSON.stringify({ name: webhook.name, createdBy: webhook.createdBy }),
})

export const webhookOf = (row: WebhookRow): Webhook => ({
  ...WEBHOOK.objectOf(row),
  ...(JSON.parse(row.body) as Pick<Webhook, 'name' | 'createdBy'>),
  events: row.events.trim().split(' ') as Webhook['events'],
})

const DELIVERY = rowMapper<Omit<WebhookDelivery, 'webhookId'>>()({
  organizationId: 'organization_id',
  eventId: 'event_id',
  type: 'type',
  agentId: 'agent_id',
  runId: 'run_id',
  facts: { json: 'facts' },
  createdAt: 'created_at',
  dueAt: 'due_at',
  tries: 'tries',
  sentAt: 'sent_at',
  statusCode: 'status_code',
  error: 'error',
  deliveredAt: 'delivered_at',
})

/** An empty `webhook_id`: the callback of a run. */
export type DeliveryRow = RowOf<typeof DELIVERY> & { webhook_id: Webhook['id'] | '' }

export function deliveryOf(row: DeliveryRow): WebhookDelivery {
  const delivery = DELIVERY.objectOf(row)
  return row.webhook_id === '' ? delivery : { ...delivery, webhookId: row.webhook_id }
}
