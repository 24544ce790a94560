import { type Agent, type Conversation, chainOf } from '../../core/agent.ts'
import { compactionSettingsOf } from '../../core/agent-compaction.ts'
import { type CompactionSettings, DEFAULT_COMPACTION } from '../../core/compaction.ts'
import { defined } from '../../core/defined.ts'
import type { ConversationId, RunId } from '../../core/id.ts'
import { windowLimitOf } from '../../core/model-settings.ts'
import { Problem } from '../../core/problem.ts'
import type { ProjectedEvent } from '../../core/projection.ts'
import type { RunSettings, RunTask } from '../../core/run.ts'
import type { OpenedRun } from '../../ports/store.ts'
import { refusalProblem } from '../messages/send-message.ts'
import { keyOf, overQuotaProblem, queueQuotaOf } from '../messages/turn-quota.ts'
import type { ServiceContext } from '../service-context.ts'
import { findConversation } from './conversations.ts'

type TaskRequest = {
  agent: Agent
  conversationId: ConversationId
  /** The conversation, if it was read already. */
  conversation?: Pick<Conversation, 'details'>
  task: RunTask
  compaction?: Partial<CompactionSettings>
  /** While another run holds the conversation: wait in its queue (default), or refuse. */
  policy?: 'queue' | 'reject'
  notice?: string
  /** Refused unless this is the newest run of the conversation. */
  onlyAfter?: RunId
}

/**
 * Shrinks the context of a conversation: by a summary, or by a reset. It is a run like any other, queued behind the
 * runs of the conversation; the messages stay stored. The status of the run is the result.
 */
export async function changeContext(request: TaskRequest, context: ServiceContext): Promise<RunId> {
  const opened = await openTask(request, context)
  switch (opened.type) {
    case 'opened':
      return opened.run.id
    case 'no-conversation':
      throw new Problem('not-found', `There is no conversation "${request.conversationId}".`)
    case 'refused':
      throw await refusalProblem(opened, context)
    case 'over-quota':
      throw overQuotaProblem(opened)
    case 'moved-on':
    case 'steered':
    case 'repeated':
    case 'key-conflict':
    case 'otid-conflict':
      throw new Error(`a run without input or key was ${opened.type}`)
  }
}

/** Opens a run without input. */
export async function openTask(request: TaskRequest, context: ServiceContext): Promise<OpenedRun> {
  const { engine, deps, defaults, organizationId } = context
  if (!engine)
    throw new Problem(
      'home-owned',
      'Another process owns this home and runs its agents. Send the request to that process.',
    )
  const { agent, conversationId, task, compaction, policy = 'queue', notice, onlyAfter } = request
  const conversation = request.conversation ?? (await findConversation(conversationId, context))
  const model = conversation?.details?.model
  const settings: RunSettings = {
    targets: chainOf(model ? { ...agent, model } : agent, defaults.fallback),
    maxSteps: defaults.maxSteps,
    maxDurationMs: defaults.maxDurationMs,
    streamTokens: false,
    onGuarded: 'deny',
    approvalTtlMs: defaults.approvalTtlMs,
    task,
    compaction: { ...(compactionSettingsOf(agent, defaults.compactionThreshold) ?? DEFAULT_COMPACTION), ...compaction },
    ...defined({ notice, windowLimit: windowLimitOf(agent, conversation) }),
  }
  const at = deps.clock.now()
  const entry = (event: ProjectedEvent['event']): ProjectedEvent => ({ event, at, changes: [] })
  const opened = await deps.store.runs.open({
    run: {
      id: `run-${deps.randomness.uuid()}`,
      organizationId,
      agentId: agent.id,
      conversationId,
      background: false,
      createdAt: at,
      metadata: TASK_METADATA[task],
      ...defined({ openedBy: keyOf(context.caller) }),
    },
    entry: entry({ type: 'input-accepted', v: 1, inputs: [], settings }),
    policy,
    interruption: entry({ type: 'cancel-requested', v: 1, cause: 'interrupt' }),
    steering: entry({ type: 'input-steered', v: 1, inputs: [] }),
    ...defined({ onlyAfter, quota: await queueQuotaOf(context) }),
  })
  if (opened.type === 'opened') engine.dispatcher.wake('queue')
  return opened
}

const TASK_METADATA: Record<RunTask, { run_type: string } | Record<never, never>> = {
  compact: {},
  reset: {},
  expire: { run_type: 'session_expiry' },
  close: { run_type: 'conversation_left' },
}
