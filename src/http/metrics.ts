import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { MetricFamily } from '../ports/telemetry.ts'
import { listAccounts, type ShownAccount } from '../service/gateway/accounts.ts'
import { countRunningTurns, countRuns } from '../service/runs/runs.ts'
import { scheduleLateness } from '../service/schedules/schedules.ts'
import type { ServiceContext } from '../service/service-context.ts'
import { webhookLateness } from '../service/webhooks/webhooks.ts'

export type Metrics = {
  streams: { opened(): void; closed(): void }
  answered(route: string, status: number): void
  page(): Promise<{ type: string; text: string }>
  families(): Promise<readonly MetricFamily[]>
  close(): void
}

const NANOSECONDS_PER_SECOND = 1e9

/** Metrics for the on-call engineer: running and queued work, failures and latency. */
export function newMetrics(context: ServiceContext): Metrics {
  const registry = new Registry()
  const stopListening = registerTurnMetrics(context, registry)
  const countRunsNow = registerRunMetrics(context, registry)
  const readGatewayNow = registerGatewayMetrics(context, registry)
  const delay = measureEventLoop(registry)
  const requests = new Counter({
    name: 'holdfast_http_requests_total',
    help: 'Requests, by route and status',
    labelNames: ['route', 'status'],
    registers: [registry],
  })
  // Cached for each route and status: a lookup by labels costs more than the increment.
  const answers = new Map<string, { inc(): void }>()
  function answersOf(route: string, status: number): { inc(): void } {
    const key = `${status} ${route}`
    const known = answers.get(key)
    if (known) return known
    const fresh = requests.labels({ route, status: String(status) })
    answers.set(key, fresh)
    return fresh
  }
  const open = new Gauge({
    name: 'holdfast_streams_open',
    help: 'Open event streams',
    registers: [registry],
  })
  new Gauge({
    name: 'holdfast_memory_bytes',
    help: 'Memory of this process',
    labelNames: ['of'],
    registers: [registry],
    collect() {
      const { rss, heapUsed } = process.memoryUsage()
      this.set({ of: 'process' }, rss)
      this.set({ of: 'heap' }, heapUsed)
    },
  })
  registerCacheMetrics(context, registry)
  registerWorkspaceMetrics(context, registry)
  registerBackupMetrics(context, registry)
  registerLateness(context, registry)
  registerTelemetryMetrics(context, registry)
  async function readNow(): Promise<void> {
    const isStoreUp = await countRunsNow()
    if (isStoreUp) await readGatewayNow()
  }
  return {
    streams: { opened: () => open.inc(), closed: () => open.dec() },
    answered: (route, status) => answersOf(route, status).inc(),
    async page() {
      await readNow()
      return { type: registry.contentType, text: await registry.metrics() }
    },
    async families() {
      await readNow()
      return registry.getMetricsAsJSON() as Promise<unknown> as Promise<MetricFamily[]>
    },
    close() {
      stopListening()
      delay.disable()
    },
  }
}

function registerTurnMetrics({ commits }: ServiceContext, registry: Registry): () => void {
  const registers = [registry]
  const runs = new Counter({
    name: 'holdfast_runs_ended_total',
    help: 'Runs that ended in this process, by stop reason',
    labelNames: ['stop_reason'],
    registers,
  })
  const failures = new Counter({
    name: 'holdfast_attempts_failed_total',
    help: 'Failed model attempts, by failure kind and remedy',
    labelNames: ['kind', 'remedy'],
    registers,
  })
  const answers = new Counter({
    name: 'holdfast_attempts_answered_total',
    help: 'Model attempts that were answered',
    registers,
  })
  const tokens = new Counter({
    name: 'holdfast_tokens_total',
    help: 'Tokens of answered model attempts, prompt and completion',
    labelNames: ['of'],
    registers,
  })
  const tools = new Counter({
    name: 'holdfast_tool_calls_ended_total',
    help: 'Tool calls, by outcome',
    labelNames: ['status'],
    registers,
  })
  new Counter({
    name: 'holdfast_lease_takeovers_total',
    help: 'Runs taken over from a worker that died or shut down',
    labelNames: ['why'],
    registers,
    collect() {
      this.reset()
      for (const [why, count] of Object.entries(commits.takeovers())) this.inc({ why }, count)
    },
  })
  const durations = new Histogram({
    name: 'holdfast_commit_seconds',
    help: 'Duration of the commits of turns',
    registers,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  })
  return commits.listen({
    committed: (tookMs) => durations.observe(tookMs / 1_000),
    event(event) {
      if (event.type === 'turn-ended') runs.inc({ stop_reason: event.stopReason })
      if (event.type === 'attempt-failed') failures.inc({ kind: event.failure.kind, remedy: event.remedy })
      if (event.type === 'tool-ended') tools.inc({ status: event.outcome.status })
      if (event.type !== 'answer-received') return
      answers.inc()
      tokens.inc({ of: 'prompt' }, event.usage.promptTokens)
      tokens.inc({ of: 'completion' }, event.usage.completionTokens)
    },
  })
}

const GATEWAY_GAUGES: Record<string, { help: string; read(account: ShownAccount, now: number): number }> = {
  up: { help: 'Whether the account receives', read: ({ state }) => (state === 'up' ? 1 : 0) },
  poll_age_seconds: {
    help: 'Time since the platform last answered; stored every 10 s',
    read: ({ lastSuccessAt, updatedAt }, now) => secondsSince(lastSuccessAt ?? updatedAt, now),
  },
  inbound_pending: { help: 'Updates that are not handled yet', read: ({ pendingInbound }) => pendingInbound },
  inbound_oldest_seconds: {
    help: 'Age of the oldest of them',
    read: ({ oldestInboundAt }, now) => secondsSince(oldestInboundAt, now),
  },
  outbox_open: { help: 'Messages that are not sent yet', read: ({ openOutbound }) => openOutbound },
  outbox_oldest_seconds: {
    help: 'Age of the oldest of them',
    read: ({ oldestOutboundAt }, now) => secondsSince(oldestOutboundAt, now),
  },
  outbox_unknown: { help: 'Messages that may not have arrived', read: ({ unknownOutbound }) => unknownOutbound },
}

const secondsSince = (at: number | undefined, now: number): number =>
  at === undefined ? 0 : Math.max(0, (now - at) / 1_000)

/** The accounts are read once for all gauges of a scrape. */
function registerGatewayMetrics(context: ServiceContext, registry: Registry): () => Promise<void> {
  const gauges = Object.entries(GATEWAY_GAUGES).map(([name, { help, read }]) => ({
    read,
    gauge: new Gauge({ name: `holdfast_gateway_${name}`, help, labelNames: ['account'], registers: [registry] }),
  }))
  return async () => {
    const accounts = await listAccounts(context)
    const now = context.deps.clock.now()
    for (const { gauge, read } of gauges) {
      gauge.reset()
      for (const account of accounts) gauge.set({ account: account.name }, read(account, now))
    }
  }
}

/** Size, hits, misses and evictions of the conversation cache. */
function registerCacheMetrics({ deps: { historyCache } }: ServiceContext, registry: Registry): void {
  const registers = [registry]
  new Gauge({
    name: 'holdfast_cache_conversations',
    help: 'Conversations in the cache: all of them, and those in a turn',
    registers,
    labelNames: ['which'],
    collect() {
      const { entries, active } = historyCache.state()
      this.set({ which: 'all' }, entries)
      this.set({ which: 'in_a_turn' }, active.length)
    },
  })
  new Gauge({
    name: 'holdfast_cache_bytes',
    help: 'Estimated memory of the cached conversations',
    registers,
    collect() {
      this.set(historyCache.state().bytes)
    },
  })
  new Counter({
    name: 'holdfast_cache_lookups_total',
    help: 'Cache lookups at the start of turns, by result',
    labelNames: ['found'],
    registers,
    collect() {
      const { hits, misses } = historyCache.state()
      this.reset()
      this.inc({ found: 'warm' }, hits)
      for (const [why, count] of Object.entries(misses)) this.inc({ found: why }, count)
    },
  })
  new Counter({
    name: 'holdfast_cache_evictions_total',
    help: 'Conversations evicted from the cache, by reason',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset()
      for (const [reason, count] of Object.entries(historyCache.state().evictions)) this.inc({ reason }, count)
    },
  })
}

/** Counts the folders only: querying the state of each workspace would make a scrape too expensive. */
function registerWorkspaceMetrics({ workspaces, deps }: ServiceContext, registry: Registry): void {
  if (!workspaces) return
  new Gauge({
    name: 'holdfast_workspaces',
    help: 'Conversations that have a workspace on this machine',
    registers: [registry],
    async collect() {
      try {
        this.set((await workspaces.list()).length)
      } catch (fault) {
        deps.report(fault, 'counting workspaces')
      }
    },
  })
}

/** How late background work is, as the store tells. */
const LATENESS: Record<string, { help: string; read(context: ServiceContext): Promise<number> }> = {
  holdfast_schedule_late_seconds: {
    help: 'How late the oldest instant of a schedule is that no server has settled; 0 if none is due',
    read: scheduleLateness,
  },
  holdfast_webhook_late_seconds: {
    help: 'How late the oldest attempt of a webhook is that no server has made; 0 if none is due',
    read: webhookLateness,
  },
}

function registerLateness(context: ServiceContext, registry: Registry): void {
  for (const [name, { help, read }] of Object.entries(LATENESS))
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        try {
          this.set((await read(context)) / 1_000)
        } catch {
          // `holdfast_store_up` tells; the gauge keeps its value.
        }
      },
    })
}

function registerTelemetryMetrics({ telemetry }: ServiceContext, registry: Registry): void {
  if (!telemetry) return
  const registers = [registry]
  new Counter({
    name: 'holdfast_telemetry_spans_exported_total',
    help: 'Spans that the collector took',
    registers,
    collect() {
      this.reset()
      this.inc(telemetry.state().exportedSpans)
    },
  })
  new Counter({
    name: 'holdfast_telemetry_dropped_total',
    help: 'Telemetry that was dropped: runs before they were exported, spans, and pushes of metrics',
    labelNames: ['what', 'why'],
    registers,
    collect() {
      this.reset()
      for (const { what, why, count } of telemetry.state().dropped) this.inc({ what, why }, count)
    },
  })
  new Gauge({
    name: 'holdfast_telemetry_runs_waiting',
    help: 'Runs that wait to be exported',
    registers,
    collect() {
      this.set(telemetry.state().waitingRuns)
    },
  })
}

/** Zero until there is a backup: an alert on its age then fires too. */
function registerBackupMetrics({ backups, deps }: ServiceContext, registry: Registry): void {
  const read = () => backups.last().catch((fault) => void deps.report(fault, 'reading the last backup'))
  new Gauge({
    name: 'holdfast_last_backup_timestamp_seconds',
    help: 'When the last backup of this home was made; 0 if there is none',
    registers: [registry],
    async collect() {
      this.set(((await read())?.at ?? 0) / 1_000)
    },
  })
  new Gauge({
    name: 'holdfast_last_backup_bytes',
    help: 'Size of the last backup of this home',
    registers: [registry],
    async collect() {
      this.set((await read())?.bytes ?? 0)
    },
  })
}

/** Queries the store on each scrape. During an outage these gauges keep their values and `holdfast_store_up` is 0. */
function registerRunMetrics(context: ServiceContext, registry: Registry): () => Promise<boolean> {
  const registers = [registry]
  const runs = new Gauge({
    name: 'holdfast_runs',
    help: 'Active runs of all processes, by phase',
    labelNames: ['phase'],
    registers,
  })
  const oldest = new Gauge({
    name: 'holdfast_queue_oldest_seconds',
    help: 'How long the oldest queued run has waited',
    registers,
  })
  new Gauge({
    name: 'holdfast_turns_running',
    help: 'Turns running in this process',
    registers,
    collect() {
      this.set(countRunningTurns(context))
    },
  })
  const up = new Gauge({
    name: 'holdfast_store_up',
    help: '1 while the database can be read, 0 while it cannot',
    registers,
  })
  return async () => {
    try {
      const { queued, running, waiting, oldestQueuedAt } = await countRuns(context)
      runs.set({ phase: 'queued' }, queued)
      runs.set({ phase: 'running' }, running)
      runs.set({ phase: 'waiting_for_approval' }, waiting)
      oldest.set(oldestQueuedAt === undefined ? 0 : Math.max(0, context.deps.clock.now() - oldestQueuedAt) / 1_000)
      up.set(1)
      return true
    } catch {
      up.set(0)
      return false
    }
  }
}

function measureEventLoop(registry: Registry) {
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  new Gauge({
    name: 'holdfast_event_loop_delay_seconds',
    help: 'Event loop delay since the last scrape',
    labelNames: ['quantile'],
    registers: [registry],
    collect() {
      for (const quantile of [50, 99])
        this.set({ quantile: String(quantile / 100) }, delay.percentile(quantile) / NANOSECONDS_PER_SECOND)
      this.set({ quantile: '1' }, delay.max / NANOSECONDS_PER_SECOND)
      delay.reset()
    },
  })
  return delay
}
