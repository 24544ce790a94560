import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { WEBHOOK_EVENT_NAMES, WEBHOOK_EVENTS } from '../../core/webhook.ts'
import {
  createWebhook,
  deleteWebhook,
  listDeliveries,
  listWebhooks,
  pauseWebhook,
  redeliver,
  replaceWebhookSecret,
  requireWebhook,
  resumeWebhook,
  testWebhook,
} from '../../service/webhooks/webhooks.ts'
import { id, limit } from '../field.ts'
import { operation } from '../operation.ts'
import { dateSchema, wireDate } from '../wire-date.ts'
import { deliverySchema, newWebhookSchema, webhookSchema, wireDelivery, wireWebhook } from './wire/webhook.ts'

const webhookPath = { webhook_id: id('webhook').describe('The id of a webhook.') }

const EVENTS_TEXT = `What it is told of. ${Object.entries(WEBHOOK_EVENTS)
  .map(([name, text]) => `\`${name}\`: ${text}`)
  .join(' ')}`

const create = operation({
  route: 'POST /v1/webhooks',
  scope: 'admin',
  summary: 'Creates a webhook: an address that is told of events; only this response contains its secret',
  body: z.object({
    url: z.string().max(2048).describe('The address. Keys that are not an operator’s: https on the public internet.'),
    events: z.array(z.enum(WEBHOOK_EVENT_NAMES)).min(1).max(20).describe(EVENTS_TEXT),
    name: z.string().max(200).nullish().describe('For people.'),
  }),
  example: { url: 'https://example.com/holdfast', events: ['run.ended', 'approval.waiting'] },
  answer: newWebhookSchema,
  async handle({ body: { url, events, name }, reply }, context) {
    const { webhook, secret } = await createWebhook({ url, events, ...defined({ name: name ?? undefined }) }, context)
    reply.header('cache-control', 'no-store')
    return { ...wireWebhook(webhook), secret }
  },
})

const list = operation({
  route: 'GET /v1/webhooks',
  scope: 'read',
  summary: 'Lists webhooks',
  answer: z.array(webhookSchema),
  handle: async (_, context) => (await listWebhooks(context)).map(wireWebhook),
})

const show = operation({
  route: 'GET /v1/webhooks/:webhook_id',
  scope: 'read',
  summary: 'Shows a webhook',
  params: webhookPath,
  answer: webhookSchema,
  handle: async ({ params }, context) => wireWebhook(await requireWebhook(params.webhook_id, context)),
})

const remove = operation({
  route: 'DELETE /v1/webhooks/:webhook_id',
  scope: 'admin',
  summary: 'Deletes a webhook with its deliveries, those that are due too',
  params: webhookPath,
  answer: z.object({ deleted: z.literal(true) }),
  async handle({ params }, context) {
    await deleteWebhook(params.webhook_id, context)
    return { deleted: true as const }
  },
})

const pause = operation({
  route: 'POST /v1/webhooks/:webhook_id/pause',
  scope: 'admin',
  summary: 'Pauses a webhook; events of the pause are kept as failed deliveries',
  params: webhookPath,
  answer: webhookSchema,
  handle: async ({ params }, context) => wireWebhook(await pauseWebhook(params.webhook_id, context)),
})

const resume = operation({
  route: 'POST /v1/webhooks/:webhook_id/resume',
  scope: 'admin',
  summary: 'Resumes a webhook that was paused, or disabled by days of failures',
  params: webhookPath,
  answer: webhookSchema,
  handle: async ({ params }, context) => wireWebhook(await resumeWebhook(params.webhook_id, context)),
})

const replaceSecret = operation({
  route: 'POST /v1/webhooks/:webhook_id/secret',
  scope: 'admin',
  summary: 'Replaces the secret of a webhook; the one before signs too for a day',
  params: webhookPath,
  answer: z.object({ secret: z.string(), previous_valid_until: dateSchema }),
  async handle({ params, reply }, context) {
    const { secret, previousUntil } = await replaceWebhookSecret(params.webhook_id, context)
    reply.header('cache-control', 'no-store')
    return { secret, previous_valid_until: wireDate(previousUntil) }
  },
})

const test = operation({
  route: 'POST /v1/webhooks/:webhook_id/test',
  scope: 'admin',
  summary: 'Sends a webhook the event `webhook.test`',
  params: webhookPath,
  answer: deliverySchema,
  handle: async ({ params }, context) => wireDelivery(await testWebhook(params.webhook_id, context)),
})

const deliveries = operation({
  route: 'GET /v1/webhook-deliveries',
  scope: 'read',
  summary: 'Lists deliveries of webhooks and of callbacks, the newest first; they are kept for 30 days',
  query: z.object({
    webhook_id: id('webhook').optional().describe('Deliveries to this webhook only.'),
    state: z.enum(['due', 'delivered', 'failed']).optional().describe('Deliveries in this state only.'),
    limit: limit(50),
    before: z.coerce.number().int().optional().describe('`number` of the last item of the page before.'),
  }),
  answer: z.array(deliverySchema),
  async handle({ query }, context) {
    const { webhook_id: webhookId, state, limit: size, before } = query
    const page = { limit: size, ...defined({ before }) }
    return (await listDeliveries(defined({ webhookId, state }), page, context)).map(wireDelivery)
  },
})

const again = operation({
  route: 'POST /v1/webhook-deliveries/:number/redeliver',
  scope: 'admin',
  summary: 'Sends a delivery again, under the same id',
  params: { number: z.coerce.number().int().min(1).describe('The number of a delivery.') },
  answer: deliverySchema,
  handle: async ({ params }, context) => wireDelivery(await redeliver(params.number, context)),
})

export const webhookOperations = [create, list, show, remove, pause, resume, replaceSecret, test, deliveries, again]
