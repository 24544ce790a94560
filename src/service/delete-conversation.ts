import type { Conversation } from '../core/agent.ts'
import type { RunId } from '../core/id.ts'
import { Problem } from '../core/problem.ts'
import { cancelRun } from './cancel-run.ts'
import { closeConversations } from './close-workspace.ts'
import type { Desk } from './desk.ts'
import { waitForRun } from './wait-for-run.ts'

/** How often somebody else may begin something there before they are in the way. */
const ROUNDS = 3

/**
 * What still runs, waits or is queued in it is cancelled and heard out; then it is gone, and nothing can begin in it; then
 * what it kept warm and its workspace go.
 * Where a run does not end before the signal, nothing is deleted and its sender is told which.
 */
export async function deleteConversation(
  { id, isDefault }: Conversation,
  desk: Desk,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock } = desk.world
  if (isDefault) throw new Problem('invalid', 'The default conversation belongs to its agent and stays with it.')
  let left: RunId | undefined
  for (let round = 0; round < ROUNDS && !signal.aborted; round++) {
    const deleted = await store.conversations.delete(desk.organizationId, id, clock.now())
    switch (deleted.type) {
      case 'deleted':
        return closeConversations([id], desk)
      case 'not-found':
        throw new Problem('not-found', `There is no conversation ${id}.`)
      case 'busy':
        // The newest first: what is queued must not begin when what runs before it ends.
        for (const runId of deleted.runIds.toReversed()) {
          left = runId
          await cancelRun(runId, desk)
        }
        for (const runId of deleted.runIds) await waitForRun(runId, desk, signal)
    }
  }
  const message = 'The conversation is not deleted: another request is currently being processed and has not ended yet.'
  throw new Problem('busy', message, left ? { runId: left } : {})
}
