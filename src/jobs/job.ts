import type { RunDetails } from '../service/runs/runs.ts'
import type { ServiceContext } from '../service/service-context.ts'
import type { UnknownWorkspacesPolicy } from './remove-orphaned-workspaces.ts'

/** What every job is started with. */
export type JobDeps = {
  context: ServiceContext
  /** What becomes of workspaces whose conversation the database does not know. */
  unknownWorkspaces: UnknownWorkspacesPolicy
  /** The body of a webhook, in the wire format of the API. */
  callbackBody(story: RunDetails): Promise<string>
}

export type RunningJob = {
  /** Resolves when nothing of the job uses the store any more: the store is closed next. */
  stop(): Promise<void>
}
