import type { OrganizationId } from '../core/id.ts'
import type { Limits } from '../core/limits.ts'
import type { Caller } from '../core/people.ts'
import type { TargetHandle } from '../core/target.ts'
import type { Engine } from '../engine/engine.ts'
import type { EngineDeps } from '../engine/engine-deps.ts'
import type { CommitListeners } from '../ports/commit-listeners.ts'
import type { CredentialAdmin } from '../ports/credential-admin.ts'
import type { Embeddings } from '../ports/embeddings.ts'
import type { ProviderDirectory } from '../ports/provider-directory.ts'
import type { Outbound } from '../ports/safe-fetch.ts'
import type { SecretKeys } from '../ports/secret-box.ts'
import type { SnapshotReader } from '../ports/snapshot.ts'
import type { Workspaces } from '../ports/workspaces.ts'
import type { ExpectedCallbacks } from './messages/expected-callbacks.ts'
import type { TurnOwners } from './messages/turn-owners.ts'

/** What a request may ask for when it does not say. */
type RunDefaults = {
  maxSteps: number
  maxDurationMs: number
  approvalTtlMs: number
  /** The model of agents that name none. */
  model: TargetHandle
  /** The chain of agents that have none of their own. */
  fallback?: TargetHandle[]
}

/** What every verb is handed. Each entrance (CLI, HTTP, an embedding program) has one and calls verbs with it. */
export type ServiceContext = {
  deps: EngineDeps
  /** Absent in a guest, which reads, cancels and answers approvals while another process owns the home. */
  engine?: Engine
  snapshot: SnapshotReader
  /** The credentials of this home, as people manage them. */
  credentialAdmin: CredentialAdmin
  directory: ProviderDirectory
  /** The key file of the home. */
  secretKeys: SecretKeys
  embeddings: Embeddings
  commits: CommitListeners
  /** HTTP client for addresses that callers supply (webhooks, MCP servers). */
  outbound: Outbound
  workspaces: Workspaces
  callbacks: ExpectedCallbacks
  defaults: RunDefaults
  organizationId: OrganizationId
  /** Who asks: the server puts the owner of the request's key here. */
  caller: Caller
  limits: Limits
  turnOwners: TurnOwners
}
