import type { OrganizationId } from '../core/id.ts'
import type { Engine } from '../engine/engine.ts'
import type { World } from '../engine/world.ts'
import type { SnapshotReader } from '../ports/snapshot.ts'

/** What a request may ask for when it does not say. */
export type Defaults = { maxSteps: number; maxDurationMs: number; approvalTtlMs: number }

/** The front desk: what every verb is handed. Entrances (CLI, HTTP, gateways) have one and call verbs with it. */
export type Desk = {
  world: World
  /** Absent in a process that only looks and cancels while another one owns the home. */
  engine?: Engine
  snapshot: SnapshotReader
  defaults: Defaults
  organizationId: OrganizationId
}
