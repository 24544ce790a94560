import type { Agent } from '../../core/agent.ts'
import type { CompactionSettings } from '../../core/compaction.ts'
import type { ConversationId, RunId } from '../../core/id.ts'
import { changeContext } from '../../service/conversations/change-context.ts'
import { countContext } from '../../service/conversations/conversations.ts'
import type { Desk } from '../../service/desk.ts'
import { showRun } from '../../service/runs/runs.ts'
import { waitForRun } from '../../service/runs/watch-run.ts'
import { failedRun, refuse } from './errors.ts'

export type Compacting = {
  agent: Agent
  conversationId: ConversationId
  compaction?: Partial<CompactionSettings>
  policy?: 'enqueue' | 'reject'
}

/** The system prompt is a message to the client. */
const SYSTEM_MESSAGE = 1

/** Makes room in a conversation and tells how much; 400 where there is nothing to be gained. */
export async function compactNow(compacting: Compacting, desk: Desk) {
  const { conversationId } = compacting
  const before = await countContext(conversationId, desk)
  if (before === 0) throw refuse(400, 'INVALID_ARGUMENT: there is nothing to summarize in this conversation')
  const runId = await changeContext({ ...compacting, task: 'compact' }, desk)
  await endOf(runId, desk)
  const { events } = await showRun(runId, desk)
  const compacted = events.find(({ event }) => event.type === 'context-compacted')?.event
  const after = await countContext(conversationId, desk)
  if (compacted?.type !== 'context-compacted' || after >= before)
    throw refuse(400, 'INVALID_ARGUMENT: summarizing did not make this conversation shorter')
  return {
    summary: compacted.text,
    num_messages_before: before + SYSTEM_MESSAGE,
    num_messages_after: after + SYSTEM_MESSAGE,
  }
}

export async function resetNow(compacting: Compacting, desk: Desk): Promise<void> {
  await endOf(await changeContext({ ...compacting, task: 'reset' }, desk), desk)
}

async function endOf(runId: RunId, desk: Desk): Promise<void> {
  const { status, error, stopReason } = await waitForRun(runId, desk)
  if (status === 'failed' && error) throw failedRun(error, { runId, stopReason: stopReason ?? 'error' })
}
