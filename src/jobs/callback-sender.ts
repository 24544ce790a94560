import { type CallbackTry, callbackOutcome, MAX_TRIES, TRIES_EXHAUSTED } from '../core/callback.ts'
import type { OrganizationId, RunId } from '../core/id.ts'
import type { ClaimedCallback } from '../ports/callback-store.ts'
import { RefusedFetch } from '../ports/safe-fetch.ts'
import { showRun } from '../service/runs/runs.ts'
import { waitForRun } from '../service/runs/watch-run.ts'
import type { JobDeps, RunningJob } from './job.ts'
import { newSingleFlight } from './single-flight.ts'

/** From the first byte sent to the headers of the answer. */
const ANSWER_MS = 10_000
/** Well above that: no other process may claim a callback while an answer can still come. */
const LEASE_MS = 30_000
/** How often the store is asked for runs that ended elsewhere, were accepted before a restart, or whose sender died. */
const SWEEP_MS = 5_000
/** Retries are due between sweeps; a tick costs a comparison. */
const TICK_MS = 1_000
const MAX_CONCURRENT = 8
/** A stop lets requests that are being sent finish for this long. */
const STOP_GRACE_MS = 2_000

/** Delivers webhooks: calls the addresses that were given with runs, once those runs are over. */
export function startCallbackSender({ context, callbackBody }: Omit<JobDeps, 'unknownWorkspaces'>): RunningJob {
  const { outbound, callbacks, deps } = context
  const { store, clock, report } = deps
  const stopping = new AbortController()
  const hurry = new AbortController()
  const expected = new Set<RunId>()
  const sending = new Set<Promise<void>>()
  const flight = newSingleFlight(report)
  let isAsked = false
  let nextLookAt = clock.now() + SWEEP_MS

  const stopListening = callbacks.onExpected(lookWhenOver)
  const stopTicking = clock.every(TICK_MS, () => {
    if (isAsked || clock.now() >= nextLookAt) look()
  })
  clock.soon(look)

  function lookWhenOver(runId: RunId, organizationId: OrganizationId): void {
    if (expected.has(runId)) return
    expected.add(runId)
    waitForRun(runId, { ...context, organizationId }, stopping.signal)
      .then(look)
      // The next sweep finds the callback, if there still is one.
      .catch(() => undefined)
      .finally(() => expected.delete(runId))
  }

  function look(): void {
    isAsked = true
    flight.run('looking for callbacks', lookUntilDone)
  }

  async function lookUntilDone(): Promise<void> {
    let due: number | undefined
    try {
      while (isAsked) {
        isAsked = false
        due = await sendDue()
      }
    } finally {
      nextLookAt = Math.min(due ?? Number.POSITIVE_INFINITY, clock.now() + SWEEP_MS)
    }
  }

  /** Starts to send what is due now; answers when the next callback will be. */
  async function sendDue(): Promise<number | undefined> {
    while (sending.size < MAX_CONCURRENT && !stopping.signal.aborted) {
      const due = await store.callbacks.nextDue()
      const now = clock.now()
      if (due === undefined || due > now) return due
      const claimed = await store.callbacks.claim(now, LEASE_MS)
      if (!claimed) return undefined
      const sent = send(claimed).finally(() => {
        sending.delete(sent)
        look()
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
      // The outcome is not recorded: the callback is sent again when the lease is over.
      report(fault, `calling back for ${run.id}`)
    }
  }

  async function post({ run, url, trust, tries }: ClaimedCallback): Promise<CallbackTry> {
    const body = await callbackBody(await showRun(run.id, { ...context, organizationId: run.organizationId }))
    const signal = AbortSignal.any([hurry.signal, AbortSignal.timeout(ANSWER_MS)])
    return toCallbackTry(
      outbound.fetch[trust](url, { method: 'POST', headers: headersFor(run.id, tries), body, signal }),
    )
  }

  return {
    async stop() {
      stopListening()
      stopTicking()
      stopping.abort()
      const allSent = new AbortController()
      const late = clock.sleep(STOP_GRACE_MS, allSent.signal)
      void late.then(() => hurry.abort(new Error('the server was stopped')))
      await flight.stop()
      await Promise.all(sending)
      allSent.abort()
    },
  }
}

/** Every try has the same delivery id: by it a receiver recognizes a repetition. */
const headersFor = (runId: RunId, tries: number): Record<string, string> => ({
  'content-type': 'application/json',
  'user-agent': 'holdfast',
  'x-holdfast-delivery': runId,
  'x-holdfast-attempt': String(tries),
})

async function toCallbackTry(asked: Promise<Response>): Promise<CallbackTry> {
  try {
    const response = await asked
    // Only the status counts; the connection is not kept busy with the rest.
    await response.body?.cancel()
    return { type: 'answered', statusCode: response.status }
  } catch (fault) {
    return { type: fault instanceof RefusedFetch ? 'refused' : 'failed', detail: errorDetail(fault) }
  }
}

function errorDetail(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault).slice(0, 300)
  if (fault.name === 'TimeoutError') return `it did not answer within ${ANSWER_MS / 1000} s`
  return (fault.cause instanceof Error ? fault.cause.message || fault.message : fault.message).slice(0, 300)
}
