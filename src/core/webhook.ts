import { DAY_MS, MINUTE_MS } from './duration.ts'
import type { AgentId, OrganizationId, RunId, WebhookId } from './id.ts'
import type { JsonObject } from './json.ts'
import type { Principal } from './people.ts'
import type { DeliveryOutcome } from './webhook-delivery.ts'

/** What a webhook can be told of. Triggers of the database write each event in the transaction that causes it. */
export const WEBHOOK_EVENTS = {
  'run.ended': 'A run is over for good. A run that an approval continued is told of by the run that continues it.',
  'approval.waiting': 'A run waits for a person.',
  'schedule.missed': 'An instant of a schedule was not fired in time.',
  'outbox.unknown': 'Whether a message arrived at a chat platform is unknown.',
  'provider.resting': 'A credential of a model provider is not used until a stated end.',
  'webhook.disabled': 'Another webhook was disabled after days of failures.',
} as const

export type WebhookEvent = keyof typeof WEBHOOK_EVENTS

export const WEBHOOK_EVENT_NAMES = Object.keys(WEBHOOK_EVENTS) as [WebhookEvent, ...WebhookEvent[]]

/** `callback`: the end of a run whose request named a `callback_url`. `webhook.test`: asked for by a person. */
type DeliveryType = WebhookEvent | 'callback' | 'webhook.test'

/** `disabled`: by days of failures; only a person resumes it. */
export type WebhookState = 'active' | 'paused' | 'disabled'

/** An address that is told of events. */
export type Webhook = {
  id: WebhookId
  organizationId: OrganizationId
  url: string
  trust: 'public' | 'configured'
  name: string
  events: WebhookEvent[]
  /** Encrypted `WebhookKeys`. */
  sealed: string
  state: WebhookState
  stateReason?: string
  /** Since when no delivery succeeded. */
  failingSince?: number
  /** No delivery starts before this. */
  restUntil?: number
  createdBy: Principal
  createdAt: number
}

/** One event for one receiver. */
export type WebhookDelivery = {
  /** Absent: the callback of a run. */
  webhookId?: WebhookId
  organizationId: OrganizationId
  /** The same in every retry, and for every receiver of this event. */
  eventId: string
  type: DeliveryType
  agentId?: AgentId
  runId?: RunId
  /** What the event is about, where no run says it. */
  facts: JsonObject
  createdAt: number
  /** Absent: there is no further attempt. */
  dueAt?: number
  tries: number
  /** When the receiver last answered. */
  sentAt?: number
  statusCode?: number
  error?: string
  deliveredAt?: number
}

export type DeliveryState = 'due' | 'delivered' | 'failed'

export const deliveryState = ({ dueAt, deliveredAt }: Pick<WebhookDelivery, 'dueAt' | 'deliveredAt'>): DeliveryState =>
  dueAt !== undefined ? 'due' : deliveredAt !== undefined ? 'delivered' : 'failed'

/** Webhooks of an organization. */
export const MAX_WEBHOOKS = 50

/** A receiver that has failed for this long, without one success, is disabled. */
const DISABLE_AFTER_MS = 3 * DAY_MS

const MIN_REST_MS = 5_000
const MAX_REST_MS = 10 * MINUTE_MS

type Health = Pick<Webhook, 'state' | 'stateReason' | 'failingSince' | 'restUntil'>

/**
 * What an attempt says about its receiver. A receiver that fails rests a quarter of the time for which it has failed, so
 * that its backlog does not keep senders from others.
 */
export function healthAfter(webhook: Webhook, outcome: DeliveryOutcome, now: number): Health {
  const { state, failingSince = now } = webhook
  if (state !== 'active') return webhook
  if (outcome.error === undefined) return { state }
  const failedFor = now - failingSince
  const restUntil = now + Math.min(MAX_REST_MS, Math.max(MIN_REST_MS, failedFor / 4))
  if (failedFor < DISABLE_AFTER_MS) return { state, failingSince, restUntil }
  const since = new Date(failingSince).toISOString()
  const reason = `No delivery has succeeded since ${since}. The last failure: ${outcome.error}`
  return { state: 'disabled', stateReason: reason.slice(0, 500), failingSince, restUntil: now }
}
