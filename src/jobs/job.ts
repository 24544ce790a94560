import type { Desk } from '../service/desk.ts'
import type { RunStory } from '../service/runs/runs.ts'
import type { UnheardOf } from './remove-ownerless.ts'

/** What every job is started with. */
export type JobParts = {
  desk: Desk
  /** What becomes of workspaces whose conversation the database does not know. */
  unheardOf: UnheardOf
  /** The body of a webhook, in the wire format of the API. */
  callbackBody(story: RunStory): Promise<string>
}

export type RunningJob = {
  /** Resolves when nothing of the job uses the store any more: the store is closed next. */
  stop(): Promise<void>
}
