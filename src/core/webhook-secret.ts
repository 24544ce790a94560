import { HOUR_MS } from './duration.ts'
import type { OrganizationId } from './id.ts'

export type WebhookSecretId = `whs-${string}`

/** The secret that signs the webhooks of an organization, sealed by the key of the home. */
export type WebhookSecret = {
  id: WebhookSecretId
  organizationId: OrganizationId
  /** Encrypted `WebhookKeys`. */
  sealed: string
  createdAt: number
}

/** Keys in the form `whsec_` and base64. The previous one signs too until `previousUntil`, so that receivers can change. */
export type WebhookKeys = { current: string; previous?: string; previousUntil?: number }

/** How long the key before a change signs too. */
export const KEY_OVERLAP_MS = 24 * HOUR_MS

const PREFIX = 'whsec_'

export const newWebhookKey = (hex: string): string => PREFIX + Buffer.from(hex, 'hex').toString('base64')

/** The bytes of a key, which sign. */
export const webhookKeyBytes = (key: string): Buffer => Buffer.from(key.slice(PREFIX.length), 'base64')

/** The keys that sign now. */
export const signingKeys = ({ current, previous, previousUntil = 0 }: WebhookKeys, now: number): string[] =>
  previous !== undefined && now < previousUntil ? [current, previous] : [current]

/** What a signature of Standard Webhooks covers. */
export const signedText = ({ id, timestamp, body }: { id: string; timestamp: number; body: string }): string =>
  `${id}.${timestamp}.${body}`
