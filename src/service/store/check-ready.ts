import { LEASE_MS } from '../../engine/lease.ts'
import type { Desk } from '../desk.ts'

/** Whether runs can be accepted now, tried by the write every worker lives on. Rejects with what stands in the way. */
export async function checkReady({ world, engine }: Desk): Promise<void> {
  if (engine) await world.store.workers.beat(engine.workerId, LEASE_MS)
}
