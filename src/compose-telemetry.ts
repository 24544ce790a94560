import type { Configuration } from './config/configuration.ts'
import type { EngineDeps } from './engine/engine-deps.ts'
import { newOutbound } from './net/outbound.ts'
import type { CommitListeners } from './ports/commit-listeners.ts'
import type { RunningTelemetry } from './ports/telemetry.ts'

/** What is read of an answer of the collector. */
const ANSWER_LIMITS = { maxBytes: 64 * 1024, keepBody: true }

type Parts = { deps: EngineDeps; commits: CommitListeners }

/** Undefined without a collector: its code is not loaded then. The address is the operator's, so it may be anywhere. */
export async function composeTelemetry(
  { endpoint, headers = {}, service_name, content, metrics_seconds }: Configuration['telemetry'],
  { deps, commits }: Parts,
): Promise<RunningTelemetry | undefined> {
  if (endpoint === undefined) return undefined
  const { startTelemetry } = await import('./telemetry/start-telemetry.ts')
  const { store, clock, randomness, digest, report } = deps
  return startTelemetry({
    endpoint,
    headers,
    serviceName: service_name,
    hasContent: content,
    metricsEveryMs: metrics_seconds * 1_000,
    fetch: newOutbound(ANSWER_LIMITS).fetch.configured,
    store,
    commits,
    clock,
    randomness,
    digest,
    report,
  })
}
