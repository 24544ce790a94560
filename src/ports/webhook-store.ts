import type { OrganizationId, WebhookId } from '../core/id.ts'
import type { DeliveryState, Webhook, WebhookDelivery } from '../core/webhook.ts'
import type { DeliveryOutcome } from '../core/webhook-delivery.ts'
import type { AddressTrust } from './safe-fetch.ts'

/** URL of a webhook for the end of a run. `trust` follows from the key that requested it. */
export type CallbackRequest = { url: string; trust: AddressTrust }

/** A delivery with the number of its row, which names it. */
export type StoredDelivery = WebhookDelivery & { number: number }

/**
 * A lease on sending this delivery. `tries` counts this attempt and identifies it in `record`. `webhook` is absent for
 * the callback of a run.
 */
export type ClaimedDelivery = StoredDelivery & CallbackRequest & { webhook?: Webhook }

export type DeliveryFilter = { webhookId?: WebhookId; state?: DeliveryState }

type Key = { organizationId: OrganizationId; id: WebhookId }

export type WebhookStore = {
  create(webhook: Webhook, limit: number): Promise<'created' | 'over-limit'>
  get(organizationId: OrganizationId, id: WebhookId): Promise<Webhook | undefined>
  /** Oldest first; there are few. */
  list(organizationId: OrganizationId): Promise<Webhook[]>
  /** Undefined: there is no such webhook. */
  edit(key: Key, edit: (webhook: Webhook) => Webhook): Promise<Webhook | undefined>
  /** Deletes its deliveries too. */
  delete(key: Key): Promise<boolean>

  /** Newest first; `before` is the number of the last one seen. Callbacks of runs are among them. */
  deliveries(
    organizationId: OrganizationId,
    filter: DeliveryFilter,
    page: { limit: number; before?: number },
  ): Promise<StoredDelivery[]>
  delivery(organizationId: OrganizationId, number: number): Promise<StoredDelivery | undefined>
  /** Makes it due now, with all its attempts. Undefined: there is no such delivery. */
  redeliver(organizationId: OrganizationId, number: number, at: number): Promise<StoredDelivery | undefined>
  /** Adds a delivery that no event caused. */
  addTest(webhook: Webhook, test: { eventId: string; at: number }): Promise<StoredDelivery>

  /** Time of the earliest due delivery of all organizations; undefined if there is none. */
  nextDue(): Promise<number | undefined>
  /**
   * Claims the earliest delivery due at `now` whose receiver does not rest and is not in `busy`. No other sender gets it
   * for `leaseMs`.
   */
  claim(now: number, leaseMs: number, busy?: readonly WebhookId[]): Promise<ClaimedDelivery | undefined>
  /**
   * Stores the result on the delivery, on the run of a callback and on the webhook. False, with nothing changed: the lease
   * expired and another sender claimed it, or the delivery is gone.
   */
  record(claimed: ClaimedDelivery, outcome: DeliveryOutcome, now: number): Promise<boolean>
  /** Deletes deliveries that ended and are older. Returns how many. */
  prune(before: number, limit: number): Promise<number>

  /** Webhooks of all organizations, for key rotation. */
  sealedPage(after: number, limit: number): Promise<{ number: number; id: WebhookId; sealed: { secret: string } }[]>
  reseal(id: WebhookId, from: { secret: string }, to: { secret: string }): Promise<boolean>
}
