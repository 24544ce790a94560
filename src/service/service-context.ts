import type { Approver } from '../core/approval.ts'
import type { OrganizationId } from '../core/id.ts'
import type { Limits } from '../core/limits.ts'
import type { Caller } from '../core/people.ts'
import type { TargetHandle } from '../core/target.ts'
import type { Engine } from '../engine/engine.ts'
import type { EngineDeps } from '../engine/engine-deps.ts'
import type { AgentFiles } from '../ports/agent-files.ts'
import type { Backups } from '../ports/backups.ts'
import type { ChangeFeed } from '../ports/change-feed.ts'
import type { CommitListeners } from '../ports/commit-listeners.ts'
import type { CredentialAdmin } from '../ports/credential-admin.ts'
import type { Embeddings } from '../ports/embeddings.ts'
import type { ImportSources } from '../ports/import-source.ts'
import type { ProviderDirectory } from '../ports/provider-directory.ts'
import type { PythonPackages } from '../ports/python-packages.ts'
import type { Outbound } from '../ports/safe-fetch.ts'
import type { SecretKeys } from '../ports/secret-box.ts'
import type { ConfigurationCheck, ShownSetting } from '../ports/shown-setting.ts'
import type { SnapshotReader } from '../ports/snapshot.ts'
import type { Telemetry } from '../ports/telemetry.ts'
import type { Workspaces } from '../ports/workspaces.ts'
import type { ExpectedCallbacks } from './messages/expected-callbacks.ts'
import type { TurnOwners } from './messages/turn-owners.ts'

/** Settings of a run that its request leaves out. */
type RunDefaults = {
  maxSteps: number
  maxDurationMs: number
  approvalTtlMs: number
  /** Absent: any key. */
  approvalBy?: Approver
  /** The model of agents that do not name one. */
  model: TargetHandle
  /** The failover chain of agents without their own. */
  fallback?: TargetHandle[]
  /** The compaction threshold of agents without their own. */
  compactionThreshold?: number
  /** Runs that a heartbeat may fire in a day. */
  heartbeatTurnsPerDay?: number
}

/** The context of every verb. Each entrance (CLI, HTTP, an embedding program) has one and passes it to the verbs. */
export type ServiceContext = {
  deps: EngineDeps
  /** Absent in a guest: a process that reads, cancels and answers approvals while another process owns the home. */
  engine?: Engine
  snapshot: SnapshotReader
  /** Manages the credentials of this home. */
  credentialAdmin: CredentialAdmin
  directory: ProviderDirectory
  /** The key file of the home. */
  secretKeys: SecretKeys
  embeddings: Embeddings
  commits: CommitListeners
  changeFeed: ChangeFeed
  shownSettings: readonly ShownSetting[]
  /** Reads config.yaml and the environment again, and changes nothing. */
  checkConfiguration(): Promise<ConfigurationCheck>
  /** HTTP client for addresses that callers supply (webhooks, MCP servers). */
  outbound: Outbound
  workspaces: Workspaces
  /** Python packages of tools from source. */
  packages: PythonPackages
  agentFiles: AgentFiles
  backups: Backups
  importSources: ImportSources
  callbacks: ExpectedCallbacks
  /** The HMAC-SHA256, as base64. */
  hmac(key: Uint8Array, data: string | Uint8Array): string
  defaults: RunDefaults
  organizationId: OrganizationId
  /** The authenticated caller: the server sets it from the key of the request. */
  caller: Caller
  limits: Limits
  /** Origins of web pages that may call the server; absent: none. */
  corsOrigins?: readonly string[]
  /** Names by which the server may be called, besides those of loopback; absent: see `server.hosts`. */
  hosts?: readonly string[]
  turnOwners: TurnOwners
  /** Absent unless the operator has configured a collector. */
  telemetry?: Telemetry
}
