import type { TurnEvent } from '../core/event.ts'
import type { RunId } from '../core/id.ts'
import type { CommitListeners } from '../ports/commit-listeners.ts'
import type { Digest } from '../ports/digest.ts'
import type { Store } from '../ports/store.ts'
import type { DroppedTelemetry, DropReason, MetricFamily, RunningTelemetry } from '../ports/telemetry.ts'
import { type CollectorDeps, newCollector } from './collector.ts'
import { RESOURCE } from './conventions.ts'
import { metricRequest, traceRequest } from './otlp-json.ts'
import { readStory } from './read-story.ts'
import { asksForApproval, type RunStory, runSpans } from './run-spans.ts'
import type { Attributes, Span } from './span.ts'

type TelemetryDeps = CollectorDeps & {
  serviceName: string
  /** Whether the text of messages and tools is exported, too. */
  hasContent: boolean
  metricsEveryMs: number
  store: Store
  commits: CommitListeners
  digest: Digest
  report(fault: unknown, where: string): void
}

/** Ids only: what is exported is read from the store when its turn comes. */
const MAX_WAITING = 2_048
const MAX_BATCH = 512
const TICK_MS = 1_000
const TRIES = 5
/** Graceful shutdown: what waits may be sent for this long. */
const STOP_GRACE_MS = 2_000

/** `isWait`: it ended to wait for approval. */
type Waiting = { runId: RunId; isWait: boolean }

/** Exports the traces of runs that end in this process, and metrics. A turn never waits for it. */
export function startTelemetry(deps: TelemetryDeps): RunningTelemetry {
  const { store, commits, clock, digest, hasContent, report } = deps
  const collector = newCollector(deps)
  const resource: Attributes = {
    [RESOURCE.service]: deps.serviceName,
    [RESOURCE.instance]: deps.randomness.uuid(),
  }
  const startedAt = clock.now()
  const cutOff = new AbortController()
  const queue: Waiting[] = []
  const dropped = new Map<string, DroppedTelemetry>()
  let exportedSpans = 0
  let working: Promise<void> | undefined
  let pushing: Promise<void> | undefined
  let isStopping = false
  /** The collector fails: it was reported, and is again after a success. */
  const failing = new Set<DroppedTelemetry['what']>()

  function drop(what: DroppedTelemetry['what'], why: DropReason, count: number, detail: string): void {
    const key = `${what} ${why}`
    dropped.set(key, { what, why, count: (dropped.get(key)?.count ?? 0) + count })
    if (failing.has(what)) return
    failing.add(what)
    report(
      new Error(
        `Telemetry is dropped (${count} ${what}, ${why}): ${detail}. Turns are not affected. ` +
          'holdfast_telemetry_dropped_total counts it; this is said once until an export succeeds.',
      ),
      `exporting telemetry to ${shownAddress(deps.endpoint)}`,
    )
  }

  /** Of the turn that commits: no work but a place in the queue. */
  function enqueue(event: TurnEvent, runId: RunId): void {
    if (event.type !== 'turn-ended') return
    if (queue.length >= MAX_WAITING) drop('runs', 'queue-full', 1, `${MAX_WAITING} runs wait to be exported`)
    else queue.push({ runId, isWait: event.stopReason === 'requires_approval' })
  }

  const stopListening = commits.listen({ event: enqueue })
  const stopTicking = clock.every(TICK_MS, work)

  function work(): Promise<void> {
    working ??= exportWaiting().finally(() => {
      working = undefined
    })
    return working
  }

  async function exportWaiting(): Promise<void> {
    let batch: Span[] = []
    while (queue.length > 0 && !cutOff.signal.aborted) {
      batch.push(...(await spansOf(queue.shift()!)))
      while (batch.length >= MAX_BATCH) {
        await sendSpans(batch.slice(0, MAX_BATCH))
        batch = batch.slice(MAX_BATCH)
      }
    }
    if (batch.length > 0) await sendSpans(batch)
  }

  async function spansOf({ runId, isWait }: Waiting): Promise<Span[]> {
    try {
      const story = await readStory(runId, store)
      return story ? runSpans(partOf(story, isWait), { digest, hasContent }) : []
    } catch (fault) {
      drop('runs', 'unreadable', 1, fault instanceof Error ? fault.message : String(fault))
      return []
    }
  }

  async function sendSpans(spans: readonly Span[]): Promise<void> {
    const sent = await collector.send('/v1/traces', traceRequest(resource, spans), {
      tries: isStopping ? 1 : TRIES,
      signal: cutOff.signal,
    })
    if (sent.type !== 'taken')
      return drop('spans', cutOff.signal.aborted ? 'shutdown' : sent.type, spans.length, sent.detail)
    exportedSpans += spans.length - sent.rejected
    if (sent.rejected > 0) drop('spans', 'refused', sent.rejected, sent.detail ?? '')
    else for (const what of ['runs', 'spans'] as const) failing.delete(what)
  }

  async function push(read: () => Promise<readonly MetricFamily[]>): Promise<void> {
    try {
      const families = await read()
      const body = metricRequest(resource, families, { startAt: startedAt, at: clock.now() })
      // The next push has newer values: a retry would send old ones.
      const sent = await collector.send('/v1/metrics', body, { tries: 1, signal: cutOff.signal })
      if (sent.type !== 'taken') return drop('metrics', sent.type, 1, sent.detail)
      if (sent.rejected > 0) return drop('metrics', 'refused', sent.rejected, sent.detail ?? '')
      failing.delete('metrics')
    } catch (fault) {
      drop('metrics', 'unreadable', 1, fault instanceof Error ? fault.message : String(fault))
    }
  }

  return {
    state: () => ({ exportedSpans, waitingRuns: queue.length, dropped: [...dropped.values()] }),
    pushMetrics(read) {
      if (deps.metricsEveryMs === 0) return () => {}
      return clock.every(deps.metricsEveryMs, () => {
        pushing ??= push(read).finally(() => {
          pushing = undefined
        })
      })
    },
    async stop() {
      stopListening()
      stopTicking()
      isStopping = true
      const done = new AbortController()
      void clock.sleep(STOP_GRACE_MS, done.signal).then(() => cutOff.abort(new Error('the server was shut down')))
      await working
      await work()
      cutOff.abort()
      done.abort()
      await pushing
      if (queue.length > 0) drop('runs', 'shutdown', queue.length, 'the server was shut down')
    },
  }
}

/** A run that waited ends twice, if no answer comes: the second time only what came after the wait is new. */
const partOf = (story: Omit<RunStory, 'part'>, isWait: boolean): RunStory => ({
  ...story,
  part: !isWait && story.events.some(({ event }) => asksForApproval(event)) ? 'wait-ended' : 'run',
})

function shownAddress(endpoint: string): string {
  return URL.canParse(endpoint) ? new URL(endpoint).origin : 'the collector'
}
