import { type CallbackTry, callbackOutcome, MAX_TRIES, TRIES_EXHAUSTED } from '../core/callback.ts'
import type { OrganizationId, RunId } from '../core/id.ts'
import { signedText, webhookKeyBytes } from '../core/webhook-secret.ts'
import type { ClaimedCallback } from '../ports/callback-store.ts'
import { RefusedFetch } from '../ports/safe-fetch.ts'
import { webhookSigningKeys } from '../service/people/webhook-secret.ts'
import { showRun } from '../service/runs/runs.ts'
import { waitForRun } from '../service/runs/watch-run.ts'
import type { JobDeps, RunningJob } from './job.ts'
import { newSingleFlight } from './single-flight.ts'

/** Timeout from the first byte sent to the headers of the response. */
const ANSWER_MS = 10_000
/** Well above that: no other process may claim a callback while a response can still arrive. */
const LEASE_MS = 30_000
/** How often the job queries the store for runs that ended elsewhere or before a restart, or whose sender died. */
const SWEEP_MS = 5_000
/** Retries are due between sweeps; a tick costs a comparison. */
const TICK_MS = 1_000
const MAX_CONCURRENT = 8
/** Graceful shutdown: requests in flight may finish for this long. */
const STOP_GRACE_MS = 2_000

/** Delivers webhooks: sends a request to the callback URL of each run that has ended. */
export function startCallbackSender({ context, callbackBody, hmac }: Omit<JobDeps, 'unknownWorkspaces'>): RunningJob {
  const { outbound, callbacks, deps } = context
  const { store, clock, report } = deps
  const stopping = new AbortController()
  const cutOff = new AbortController()
  const expected = new Set<RunId>()
  const sending = new Set<Promise<void>>()
  const flight = newSingleFlight(report)
  let isWoken = false
  let nextCheckAt = clock.now() + SWEEP_MS

  const stopListening = callbacks.onExpected(wakeWhenOver)
  const stopTicking = clock.every(TICK_MS, () => {
    if (isWoken || clock.now() >= nextCheckAt) wake()
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

  /** Starts to send the callbacks that are due and returns when the next one is. */
  async function sendDue(): Promise<number | undefined> {
    while (sending.size < MAX_CONCURRENT && !stopping.signal.aborted) {
      const due = await store.callbacks.nextDue()
      const now = clock.now()
      if (due === undefined || due > now) return due
      const claimed = await store.callbacks.claim(now, LEASE_MS)
      if (!claimed) return undefined
      const sent = send(claimed).finally(() => {
        sending.delete(sent)
        wake()
      })
      sending.add(sent)
    }
    return undefined
  }

  async function send(claimed: ClaimedCallback): Promise<void> {
    const { run, tries } = claimed
    try {
      const tried = tries > MAX_TRIES ? undefined : await post(claimed)
      const outcome = tried ? callbackOutcome(tried, { tries, now: clock.now() }) : TRIES_EXHAUSTED
      await store.callbacks.record(run.id, tries, outcome)
    } catch (fault) {
      // The outcome is not recorded, so the callback is sent again when the lease expires.
      report(fault, `calling the webhook of ${run.id}`)
    }
  }

  async function post({ run, url, trust, tries }: ClaimedCallback): Promise<CallbackTry> {
    const own = { ...context, organizationId: run.organizationId }
    const body = await callbackBody(await showRun(run.id, own))
    const headers = {
      ...headersFor(run.id, tries),
      ...signatureOf({ id: run.id, body }, await webhookSigningKeys(own)),
    }
    const signal = AbortSignal.any([cutOff.signal, AbortSignal.timeout(ANSWER_MS)])
    return toCallbackTry(outbound.fetch[trust](url, { method: 'POST', headers, body, signal }))
  }

  /** Standard Webhooks: the id is the same in every retry, the timestamp is that of this one. */
  function signatureOf({ id, body }: { id: string; body: string }, keys: readonly string[]): Record<string, string> {
    const timestamp = Math.floor(clock.now() / 1000)
    const text = signedText({ id, timestamp, body })
    const signed = keys.map((key) => `v1,${hmac(webhookKeyBytes(key), text)}`)
    const unsigned = { 'webhook-id': id, 'webhook-timestamp': String(timestamp) }
    return signed.length > 0 ? { ...unsigned, 'webhook-signature': signed.join(' ') } : unsigned
  }

  return {
    async stop() {
      stopListening()
      stopTicking()
      stopping.abort()
      const allSent = new AbortController()
      const late = clock.sleep(STOP_GRACE_MS, allSent.signal)
      void late.then(() => cutOff.abort(new Error('the server was shut down')))
      await flight.stop()
      await Promise.all(sending)
      allSent.abort()
    },
  }
}

/** Every retry has the same delivery id, so that the receiver recognizes duplicates. */
const headersFor = (runId: RunId, tries: number): Record<string, string> => ({
  'content-type': 'application/json',
  'user-agent': 'holdfast',
  'x-holdfast-delivery': runId,
  'x-holdfast-attempt': String(tries),
})

async function toCallbackTry(request: Promise<Response>): Promise<CallbackTry> {
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
