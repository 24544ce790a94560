import { LEASE_MS } from '../../engine/lease.ts'
import type { ServiceContext } from '../service-context.ts'

/** Readiness: tries the heartbeat write that every worker depends on, and rejects with its error. */
export async function checkReady({ deps, engine }: ServiceContext): Promise<void> {
  if (engine) await deps.store.workers.beat(engine.workerId, LEASE_MS)
}
