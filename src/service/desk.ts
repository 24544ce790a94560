import type { OrganizationId } from '../core/id.ts'
import type { Limits } from '../core/limits.ts'
import type { Caller } from '../core/people.ts'
import type { TargetHandle } from '../core/target.ts'
import type { Engine } from '../engine/engine.ts'
import type { World } from '../engine/world.ts'
import type { CredentialCare } from '../ports/credential-care.ts'
import type { Embeddings } from '../ports/embeddings.ts'
import type { ProviderDirectory } from '../ports/provider-directory.ts'
import type { Outbound } from '../ports/safe-fetch.ts'
import type { SecretKeys } from '../ports/secret-box.ts'
import type { SnapshotReader } from '../ports/snapshot.ts'
import type { Workspaces } from '../ports/workspaces.ts'
import type { Hearing } from './tell-events.ts'

/** What a request may ask for when it does not say. */
export type Defaults = {
  maxSteps: number
  maxDurationMs: number
  approvalTtlMs: number
  /** The model of agents that name none. */
  model?: TargetHandle
  /** The chain of agents that have none of their own. */
  fallback?: TargetHandle[]
}

/** The front desk: what every verb is handed. Entrances (CLI, HTTP, gateways) have one and call verbs with it. */
export type Desk = {
  world: World
  /** Absent in a process that only looks and cancels while another one owns the home. */
  engine?: Engine
  snapshot: SnapshotReader
  /** Absent where credentials are not looked after. */
  care?: CredentialCare
  /** Absent where nothing but scripted models serves. */
  directory?: ProviderDirectory
  /** Absent where the key of the home cannot be changed. */
  secretKeys?: SecretKeys
  /** Absent where what is kept is found by words alone. */
  embeddings?: Embeddings
  /** Absent where nobody listens to what is committed. */
  hearing?: Hearing
  /** Absent where nobody is called whose address somebody else chose. */
  outbound?: Outbound
  /** Absent where nothing is run on this machine. */
  workspaces?: Workspaces
  defaults: Defaults
  organizationId: OrganizationId
  /** Who asks; absent at the command line, where whoever owns the home sits. */
  caller?: Caller
  /** Absent where the usual ones hold. */
  limits?: Limits
}
