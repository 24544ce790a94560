import { DAY_MS } from '../core/duration.ts'
import type { OrganizationId, RunId, WebhookId } from '../core/id.ts'
import { Problem } from '../core/problem.ts'
import { type DeliveryTry, deliveryOutcome, MAX_TRIES, TRIES_EXHAUSTED } from '../core/webhook-delivery.ts'
import { signedText, webhookKeyBytes } from '../core/webhook-secret.ts'
import { RefusedFetch } from '../ports/safe-fetch.ts'
import type { ClaimedDelivery } from '../ports/webhook-store.ts'
import { showRun } from '../service/runs/runs.ts'
import { waitForRun } from '../service/runs/watch-run.ts'
import { signingKeysOf } from '../service/webhooks/webhook-keys.ts'
import type { JobDeps, RunningJob } from './job.ts'
import { newSingleFlight } from './single-flight.ts'

/** Timeout from the first byte sent to the headers of the response. */
const ANSWER_MS = 10_000
/** Well above that: no other process may claim a callback while a response can still arrive. */
const LEASE_MS = 30_000
/** How often the job queries the store for what happened elsewhere or before a restart, or whose sender died. */
const SWEEP_MS = 5_000
/** Retries are due between sweeps; a tick costs a comparison. */
const TICK_MS = 1_000
const MAX_CONCURRENT = 8
/** Requests to one webhook at a time: one that does not answer must not keep senders from others. */
const MAX_PER_WEBHOOK = 2
/** How long the log of deliveries is kept. */
const KEPT_MS = 30 * DAY_MS
const PRUNE_EVERY_MS = 600_000
const PRUNED_AT_ONCE = 1_000
/** Graceful shutdown: requests in flight may finish for this long. */
const STOP_GRACE_MS = 2_000

/** Delivers webhooks: events to the addresses that asked for them, and the end of runs to their callbacks. */
export function startWebhookSender({ context, webhookBody }: Omit<JobDeps, 'unknownWorkspaces'>): RunningJob {
  const { outbound, callbacks, commits, hmac, deps } = context
  const { store, clock, report } = deps
  const stopping = new AbortController()
  const cutOff = new AbortController()
  const expected = new Set<RunId>()
  const sending = new Set<Promise<void>>()
  const inFlight = new Map<WebhookId, number>()
  const flight = newSingleFlight(report)
  const pruning = newSingleFlight(report)
  let isWoken = false
  let nextCheckAt = clock.now() + SWEEP_MS
  let pruneAt = clock.monotonic() + PRUNE_EVERY_MS

  const stopListening = callbacks.onExpected(wakeWhenOver)
  const stopWatching = commits.listen({
    event: (event) => {
      // The next tick looks: a query for each turn would be felt.
      if (event.type === 'turn-ended') nextCheckAt = 0
    },
  })
  const stopTicking = clock.every(TICK_MS, () => {
    if (isWoken || clock.now() >= nextCheckAt) wake()
    if (clock.monotonic() < pruneAt) return
    pruneAt = clock.monotonic() + PRUNE_EVERY_MS
    pruning.run('pruning the log of webhooks', prune)
  })
  clock.soon(wake)

  function wakeWhenOver(runId: RunId, organizationId: OrganizationId): void {
    if (expected.has(runId)) return
    expected.add(runId)
    waitForRun(runId, { ...context, organizationId }, stopping.signal)
      .then(wake)
      // The next sweep finds the callback if it still exists.
      .catch(() => undefined)
      .finally(() => expected.delete(runId))
  }

  function wake(): void {
    isWoken = true
    flight.run('calling webhooks', sendUntilIdle)
  }

  async function sendUntilIdle(): Promise<void> {
    let due: number | undefined
    try {
      while (isWoken) {
        isWoken = false
        due = await sendDue()
      }
    } finally {
      nextCheckAt = Math.min(due ?? Number.POSITIVE_INFINITY, clock.now() + SWEEP_MS)
    }
  }

  /** Starts to send the deliveries that are due and returns when the next one is. */
  async function sendDue(): Promise<number | undefined> {
    while (sending.size < MAX_CONCURRENT && !stopping.signal.aborted) {
      const due = await store.webhooks.nextDue()
      const now = clock.now()
      if (due === undefined || due > now) return due
      const claimed = await store.webhooks.claim(now, LEASE_MS, busy())
      if (!claimed) return undefined
      begin(claimed)
    }
    return undefined
  }

  const busy = (): WebhookId[] => [...inFlight].flatMap(([id, count]) => (count >= MAX_PER_WEBHOOK ? [id] : []))

  function begin(claimed: ClaimedDelivery): void {
    const { webhookId } = claimed
    if (webhookId) inFlight.set(webhookId, (inFlight.get(webhookId) ?? 0) + 1)
    const sent = send(claimed).finally(() => {
      sending.delete(sent)
      if (webhookId) endOne(webhookId)
      wake()
    })
    sending.add(sent)
  }

  function endOne(id: WebhookId): void {
    const left = (inFlight.get(id) ?? 1) - 1
    if (left > 0) inFlight.set(id, left)
    else inFlight.delete(id)
  }

  async function send(claimed: ClaimedDelivery): Promise<void> {
    const { eventId, tries } = claimed
    try {
      const tried = tries > MAX_TRIES ? undefined : await attempt(claimed)
      const outcome = tried ? deliveryOutcome(tried, { tries, now: clock.now() }) : TRIES_EXHAUSTED
      await store.webhooks.record(claimed, outcome, clock.now())
    } catch (fault) {
      // The outcome is not recorded, so it is sent again when the lease expires.
      report(fault, `calling the webhook of ${eventId}`)
    }
  }

  async function attempt(claimed: ClaimedDelivery): Promise<DeliveryTry> {
    const { webhook, runId, organizationId } = claimed
    if (webhook && webhook.state !== 'active') return { type: 'refused', detail: `the webhook is ${webhook.state}` }
    const own = { ...context, organizationId }
    const story = runId && (await showRun(runId, own).catch(missing))
    if (story === 'missing') return { type: 'refused', detail: `the run ${runId} was deleted` }
    return post(claimed, { body: await webhookBody(claimed, story), keys: await signingKeysOf(webhook, own) })
  }

  function post(
    { url, trust, eventId: id, tries }: ClaimedDelivery,
    { body, keys }: { body: string; keys: readonly string[] },
  ): Promise<DeliveryTry> {
    const headers = { ...headersFor(id, tries), ...signatureOf({ id, body }, keys) }
    const signal = AbortSignal.any([cutOff.signal, AbortSignal.timeout(ANSWER_MS)])
    return toDeliveryTry(outbound.fetch[trust](url, { method: 'POST', headers, body, signal }))
  }

  /** Standard Webhooks: the id is the same in every retry, the timestamp is that of this one. */
  function signatureOf({ id, body }: { id: string; body: string }, keys: readonly string[]): Record<string, string> {
    const timestamp = Math.floor(clock.now() / 1000)
    const text = signedText({ id, timestamp, body })
    const signed = keys.map((key) => `v1,${hmac(webhookKeyBytes(key), text)}`)
    const unsigned = { 'webhook-id': id, 'webhook-timestamp': String(timestamp) }
    return signed.length > 0 ? { ...unsigned, 'webhook-signature': signed.join(' ') } : unsigned
  }

  async function prune(): Promise<void> {
    const before = clock.now() - KEPT_MS
    while (!stopping.signal.aborted && (await store.webhooks.prune(before, PRUNED_AT_ONCE)) === PRUNED_AT_ONCE) {}
    while (!stopping.signal.aborted && (await store.hooks.prune(before, PRUNED_AT_ONCE)) === PRUNED_AT_ONCE) {}
  }

  return {
    async stop() {
      stopListening()
      stopWatching()
      stopTicking()
      stopping.abort()
      const allSent = new AbortController()
      const late = clock.sleep(STOP_GRACE_MS, allSent.signal)
      void late.then(() => cutOff.abort(new Error('the server was shut down')))
      await flight.stop()
      await pruning.stop()
      await Promise.all(sending)
      allSent.abort()
    },
  }
}

function missing(fault: unknown): 'missing' {
  if (fault instanceof Problem && fault.kind === 'not-found') return 'missing'
  throw fault
}

/** Every retry has the same delivery id, so that the receiver recognizes duplicates. */
const headersFor = (eventId: string, tries: number): Record<string, string> => ({
  'content-type': 'application/json',
  'user-agent': 'holdfast',
  'x-holdfast-delivery': eventId,
  'x-holdfast-attempt': String(tries),
})

async function toDeliveryTry(request: Promise<Response>): Promise<DeliveryTry> {
  try {
    const response = await request
    // Only the status matters: the body is not read.
    await response.body?.cancel()
    return { type: 'answered', statusCode: response.status }
  } catch (fault) {
    return { type: fault instanceof RefusedFetch ? 'refused' : 'failed', detail: errorDetail(fault) }
  }
}

function errorDetail(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault).slice(0, 300)
  if (fault.name === 'TimeoutError') return `the webhook did not answer within ${ANSWER_MS / 1000} s`
  return (fault.cause instanceof Error ? fault.cause.message || fault.message : fault.message).slice(0, 300)
}
