import { type CallbackTry, MOST_TRIES, outcomeOf, SPENT } from '../core/callback.ts'
import type { OrganizationId, RunId } from '../core/id.ts'
import type { ClaimedCallback } from '../ports/callback-store.ts'
import { type Outbound, RefusedFetch } from '../ports/safe-fetch.ts'
import type { Desk } from '../service/desk.ts'
import { showRun } from '../service/runs/runs.ts'
import { waitForRun } from '../service/runs/watch-run.ts'
import { callbackBody } from './letta/callback-body.ts'

export type CallingBack = {
  /** Looks for its callback as soon as this run is over, and not with the next sweep. */
  expect(runId: RunId, organizationId: OrganizationId): void
  /** What is being sent gets a moment; whatever is left is found by the next process. */
  stop(): Promise<void>
}

type Parts = { desk: Desk; report(fault: unknown, where: string): void }

/** From the first byte sent to the headers of the answer. */
const ANSWER_MS = 10_000
/** Well above that: nobody else may have it while an answer can still come. */
const LEASE_MS = 30_000
/** For runs that ended elsewhere, were accepted before a restart, or whose sender died. */
const SWEEP_MS = 5_000
const MOST_AT_ONCE = 8
const STOP_GRACE_MS = 2_000

/** Tells whoever asked for it that their run is over, for as long as the server runs. */
export function keepCallingBack({ desk, report }: Parts): CallingBack {
  const { outbound, world } = desk
  if (!outbound) return { expect: () => undefined, stop: async () => undefined }
  const { store, clock } = world
  const stopping = new AbortController()
  const hurry = new AbortController()
  const expected = new Set<RunId>()
  const sending = new Set<Promise<void>>()
  let looking: Promise<void> | undefined
  let isAsked = false
  let isAway = false
  let next = setTimeout(look, 0).unref()

  function look(): void {
    isAsked = true
    if (looking || stopping.signal.aborted) return
    clearTimeout(next)
    looking = lookUntilDone().finally(() => {
      looking = undefined
    })
  }

  async function lookUntilDone(): Promise<void> {
    let due: number | undefined
    try {
      while (isAsked) {
        isAsked = false
        due = await takeDue()
      }
      isAway = false
    } catch (fault) {
      // Said once: while the store is away it is asked again and again.
      if (!isAway) report(fault, 'looking for callbacks')
      isAway = true
    }
    const wait = due === undefined ? SWEEP_MS : Math.min(Math.max(due - clock.now(), 1), SWEEP_MS)
    if (!stopping.signal.aborted) next = setTimeout(look, wait).unref()
  }

  /** Sends what is due; answers when the next one will be. */
  async function takeDue(): Promise<number | undefined> {
    while (sending.size < MOST_AT_ONCE && !stopping.signal.aborted) {
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
      const tried = tries > MOST_TRIES ? undefined : await post(claimed)
      const outcome = tried ? outcomeOf(tried, { tries, now: clock.now() }) : SPENT
      await store.callbacks.record(run.id, tries, outcome)
    } catch (fault) {
      // Its outcome could not be kept: it is sent again when the lease is over.
      report(fault, `calling back for ${run.id}`)
    }
  }

  async function post({ run, url, reach, tries }: ClaimedCallback): Promise<CallbackTry> {
    const story = await showRun(run.id, { ...desk, organizationId: run.organizationId })
    const request = { method: 'POST', headers: headersFor(run.id, tries), body: callbackBody(story) }
    const signal = AbortSignal.any([hurry.signal, AbortSignal.timeout(ANSWER_MS)])
    return answerTo((outbound as Outbound).fetch[reach](url, { ...request, signal }))
  }

  return {
    expect(runId, organizationId) {
      if (expected.has(runId)) return
      expected.add(runId)
      waitForRun(runId, { ...desk, organizationId }, stopping.signal)
        .then(look)
        // A sweep finds it, if there is still something to find.
        .catch(() => undefined)
        .finally(() => expected.delete(runId))
    },
    async stop() {
      stopping.abort()
      clearTimeout(next)
      const late = setTimeout(() => hurry.abort(new Error('the server was stopped')), STOP_GRACE_MS)
      await looking
      // The store is closed next: nothing of ours may still be using it.
      await Promise.all(sending)
      clearTimeout(late)
    },
  }
}

/** The delivery is the same in every try: by it a receiver knows what it had before. */
const headersFor = (runId: RunId, tries: number): Record<string, string> => ({
  'content-type': 'application/json',
  'user-agent': 'holdfast',
  'x-holdfast-delivery': runId,
  'x-holdfast-attempt': String(tries),
})

async function answerTo(asked: Promise<Response>): Promise<CallbackTry> {
  try {
    const response = await asked
    // What it says beside its status is of no use to anybody.
    await response.body?.cancel()
    return { type: 'answered', statusCode: response.status }
  } catch (fault) {
    return { type: fault instanceof RefusedFetch ? 'refused' : 'failed', detail: wordsOf(fault) }
  }
}

function wordsOf(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault).slice(0, 300)
  if (fault.name === 'TimeoutError') return `it did not answer within ${ANSWER_MS / 1000} s`
  return (fault.cause instanceof Error ? fault.cause.message || fault.message : fault.message).slice(0, 300)
}
