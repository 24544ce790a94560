import { defined } from '../../core/defined.ts'
import type { RunDetails } from '../../service/runs/runs.ts'
import { typesOf, wireRun } from './wire/run.ts'
import { runResponse } from './wire/run-response.ts'

/** The body of the webhook call: how the run ended, with its messages. */
export function callbackBody(story: RunDetails): string {
  const { id: run_id, status, completed_at, metadata } = wireRun(story.run)
  const result = runResponse(story, defined({ types: typesOf(story.run) }))
  return JSON.stringify({ run_id, status, completed_at, metadata: { ...metadata, result } })
}
