import { LEASE_MS } from '../../engine/lease.ts'
import type { ServiceContext } from '../service-context.ts'

/** Whether runs can be accepted now, tried by the write every worker lives on. Rejects with what stands in the way. */
export async function checkReady({ deps, engine }: ServiceContext): Promise<void> {
  if (engine) await deps.store.workers.beat(engine.workerId, LEASE_MS)
}
