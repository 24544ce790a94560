import { z } from 'zod'
import type { Agent } from '../../core/agent.ts'
import type { CompactionSettings } from '../../core/compaction.ts'
import { defined } from '../../core/defined.ts'
import type { ConversationId, RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { changeContext } from '../../service/conversations/change-context.ts'
import { countContextMessages } from '../../service/conversations/conversations.ts'
import { showRun } from '../../service/runs/runs.ts'
import { waitForRun } from '../../service/runs/watch-run.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { runFailedProblem } from './errors.ts'

export const compactBody = z.object({
  compaction_settings: z
    .object({
      mode: z
        .enum(['sliding_window', 'all', 'self_compact_all', 'self_compact_sliding_window'])
        .nullish()
        .describe('Whether the newest messages stay as they are.'),
      model: z.string().nullish().describe('The model that summarizes, as provider/model.'),
      prompt: z.string().nullish().describe('What that model is told to do.'),
      clip_chars: z.int().min(1).nullish().describe('The longest summary.'),
      sliding_window_percentage: z.number().gt(0).max(1).nullish().describe('The part of the context that is kept.'),
    })
    .nullish()
    .describe('How to summarize, for this request only.'),
})

export function toCompactionSettings(
  settings: z.output<typeof compactBody>['compaction_settings'],
): Partial<CompactionSettings> {
  const { mode, model, prompt, clip_chars, sliding_window_percentage } = settings ?? {}
  return {
    ...defined({ mode: mode ?? undefined }),
    // The vendor's name for "you choose": the agent's own model.
    ...defined({
      model: model && model !== 'letta/auto' ? model : undefined,
      prompt: prompt || undefined,
      clipChars: clip_chars || undefined,
      slidingWindowPercentage: sliding_window_percentage || undefined,
    }),
  }
}

type CompactRequest = {
  agent: Agent
  conversationId: ConversationId
  compaction?: Partial<CompactionSettings>
  policy?: 'enqueue' | 'reject'
}

/** The system prompt is a message to the client. */
const SYSTEM_MESSAGE = 1

/** Makes room in a conversation and tells how much; 400 where there is nothing to be gained. */
export async function compactNow(compacting: CompactRequest, context: ServiceContext) {
  const { conversationId } = compacting
  const before = await countContextMessages(conversationId, context)
  if (before === 0) throw new Problem('invalid-argument', 'there is nothing to summarize in this conversation')
  const runId = await changeContext({ ...compacting, task: 'compact' }, context)
  await waitForSuccess(runId, context)
  const { events } = await showRun(runId, context)
  const compacted = events.find(({ event }) => event.type === 'context-compacted')?.event
  const after = await countContextMessages(conversationId, context)
  if (compacted?.type !== 'context-compacted' || after >= before)
    throw new Problem('invalid-argument', 'summarizing did not make this conversation shorter')
  return {
    summary: compacted.text,
    num_messages_before: before + SYSTEM_MESSAGE,
    num_messages_after: after + SYSTEM_MESSAGE,
  }
}

export async function resetNow(compacting: CompactRequest, context: ServiceContext): Promise<void> {
  await waitForSuccess(await changeContext({ ...compacting, task: 'reset' }, context), context)
}

async function waitForSuccess(runId: RunId, context: ServiceContext): Promise<void> {
  const { status, error, stopReason } = await waitForRun(runId, context)
  if (status === 'failed' && error) throw runFailedProblem(error, { runId, stopReason: stopReason ?? 'error' })
}
