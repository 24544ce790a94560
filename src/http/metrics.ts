import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Registry } from 'prom-client'
import type { Hearing } from '../service/tell-events.ts'

export type Metrics = {
  streams: { opened(): void; closed(): void }
  answered(route: string, status: number): void
  page(): Promise<{ type: string; text: string }>
  close(): void
}

const NANOSECONDS_PER_SECOND = 1e9

export function newMetrics(hearing: Hearing | undefined): Metrics {
  const registers = [new Registry()]
  const runs = new Counter({
    ...{ name: 'holdfast_runs_ended_total', help: 'Runs that ended here, by stop reason', labelNames: ['stop_reason'] },
    registers,
  })
  const failures = new Counter({
    ...{
      name: 'holdfast_attempts_failed_total',
      help: 'Failed model attempts, by kind',
      labelNames: ['kind', 'remedy'],
    },
    registers,
  })
  const answers = new Counter({
    ...{ name: 'holdfast_attempts_answered_total', help: 'Model attempts that brought an answer' },
    registers,
  })
  const requests = new Counter({
    ...{ name: 'holdfast_http_requests_total', help: 'Requests, by route and status', labelNames: ['route', 'status'] },
    registers,
  })
  const open = new Gauge({ name: 'holdfast_streams_open', help: 'Streams that are being read', registers })
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  new Gauge({
    ...{ name: 'holdfast_event_loop_delay_seconds', help: 'Delay of the event loop', labelNames: ['quantile'] },
    registers,
    collect() {
      for (const quantile of [50, 99])
        this.set({ quantile: String(quantile / 100) }, delay.percentile(quantile) / NANOSECONDS_PER_SECOND)
      delay.reset()
    },
  })
  const stop = hearing?.listen((event) => {
    if (event.type === 'turn-ended') runs.inc({ stop_reason: event.stopReason })
    if (event.type === 'attempt-failed') failures.inc({ kind: event.failure.kind, remedy: event.remedy })
    if (event.type === 'answer-received') answers.inc()
  })
  return {
    streams: { opened: () => open.inc(), closed: () => open.dec() },
    answered: (route, status) => requests.inc({ route, status: String(status) }),
    page: async () => ({ type: registers[0]!.contentType, text: await registers[0]!.metrics() }),
    close() {
      stop?.()
      delay.disable()
    },
  }
}
