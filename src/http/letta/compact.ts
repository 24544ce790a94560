import { z } from 'zod'
import type { Agent } from '../../core/agent.ts'
import type { CompactionSettings } from '../../core/compaction.ts'
import { defined } from '../../core/defined.ts'
import type { ConversationId, RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { textTokens } from '../../core/token-estimate.ts'
import { changeContext } from '../../service/conversations/change-context.ts'
import { countContextMessages } from '../../service/conversations/conversations.ts'
import { showRun } from '../../service/runs/runs.ts'
import { waitForRun } from '../../service/runs/watch-run.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { SUMMARY_FIELDS, withKnownSummarizer } from './compaction-body.ts'
import { runFailedProblem } from './errors.ts'
import { AUTO_MODEL } from './model-handle.ts'

export const compactBody = z.object({
  compaction_settings: z.object(SUMMARY_FIELDS).nullish().describe('How to summarize, for this request only.'),
})

export function toCompactionSettings(
  settings: z.output<typeof compactBody>['compaction_settings'],
  context: ServiceContext,
): Partial<CompactionSettings> {
  const { mode, prompt, clip_chars, sliding_window_percentage } = settings ?? {}
  const { model } = withKnownSummarizer(defined({ model: settings?.model ?? undefined }), context)
  return {
    ...defined({ mode: mode ?? undefined }),
    // This handle means the agent's own model.
    ...defined({
      model: model && model !== AUTO_MODEL ? model : undefined,
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
  policy?: 'queue' | 'reject'
}

/** Clients count the system prompt as a message. */
const SYSTEM_MESSAGE = 1

/** Summarizes a conversation and returns the message counts; 400 if it does not get shorter. */
export async function compactNow(compacting: CompactRequest, context: ServiceContext) {
  const { conversationId } = compacting
  const before = await countContextMessages(conversationId, context)
  if (before === 0) throw new Problem('invalid-argument', 'This conversation has no messages to summarize.')
  const runId = await changeContext({ ...compacting, task: 'compact' }, context)
  await waitForSuccess(runId, context)
  const { events } = await showRun(runId, context)
  const compacted = events.find(({ event }) => event.type === 'context-compacted')?.event
  const after = await countContextMessages(conversationId, context)
  const isShorter = compacted?.type === 'context-compacted' && (after < before || isMuchShorter(compacted))
  if (!isShorter)
    throw new Problem(
      'invalid-argument',
      'The summary is not shorter than the messages it replaces. The conversation is unchanged.',
    )
  return {
    summary: compacted.text,
    num_messages_before: before + SYSTEM_MESSAGE,
    num_messages_after: after + SYSTEM_MESSAGE,
  }
}

/** One long message may become one summary. */
const isMuchShorter = ({ text, tokensBefore }: { text: string; tokensBefore: number }): boolean =>
  textTokens(text) < tokensBefore / 4

export async function resetNow(compacting: CompactRequest, context: ServiceContext): Promise<void> {
  await waitForSuccess(await changeContext({ ...compacting, task: 'reset' }, context), context)
}

async function waitForSuccess(runId: RunId, context: ServiceContext): Promise<void> {
  const { status, error, stopReason } = await waitForRun(runId, context)
  if (status === 'failed' && error) throw runFailedProblem(error, { runId, stopReason: stopReason ?? 'error' })
}
