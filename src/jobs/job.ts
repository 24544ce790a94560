import type { WebhookDelivery } from '../core/webhook.ts'
import type { RunDetails } from '../service/runs/runs.ts'
import type { ServiceContext } from '../service/service-context.ts'
import type { UnknownWorkspacesPolicy } from './remove-orphaned-workspaces.ts'

/** The dependencies of every job. */
export type JobDeps = {
  context: ServiceContext
  /** What to do with workspaces whose conversation the database does not know. */
  unknownWorkspaces: UnknownWorkspacesPolicy
  /** The body of a webhook, in the wire format of the API. `story`: the run that it is about. */
  webhookBody(delivery: WebhookDelivery, story: RunDetails | undefined): Promise<string>
}

export type RunningJob = {
  /** Resolves when the job no longer uses the store: the store is closed next. */
  stop(): Promise<void>
}
