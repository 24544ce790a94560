import { z } from 'zod'
import { newWebhookSecret } from '../../service/people/webhook-secret.ts'
import { operation } from '../operation.ts'
import { dateSchema, wireDate } from '../wire-date.ts'
import { organizationIn, organizationQuery } from './organization.ts'

const secretSchema = z.lazy(() =>
  z
    .object({
      secret: z.string().describe('The key that signs webhooks: `whsec_` and base64. No other response contains it.'),
      created_at: dateSchema,
      previous_valid_until: dateSchema.nullable().describe('Until when the key before it signs too; null for none.'),
    })
    .meta({ id: 'WebhookSecret', description: 'The key that signs the webhooks of an organization.' }),
)

const replaceWebhookSecret = operation({
  route: 'POST /v1/webhook-secret',
  scope: 'admin',
  summary: 'Creates or replaces the key that signs webhooks; only this response contains it',
  audit: 'by-verb',
  query: organizationQuery,
  answer: secretSchema,
  async handle({ query, reply }, context) {
    const { key, createdAt, previousUntil } = await newWebhookSecret(organizationIn(query), context)
    reply.header('cache-control', 'no-store')
    return {
      secret: key,
      created_at: wireDate(createdAt),
      previous_valid_until: previousUntil === undefined ? null : wireDate(previousUntil),
    }
  },
})

export const webhookSecretOperations = [replaceWebhookSecret]
