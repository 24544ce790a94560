import { type Agent, chainOf } from '../../core/agent.ts'
import { compactionSettingsOf } from '../../core/agent-compaction.ts'
import { type CompactionSettings, DEFAULT_COMPACTION } from '../../core/compaction.ts'
import type { ConversationId, RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { ProjectedEvent } from '../../core/projection.ts'
import type { RunSettings } from '../../core/run.ts'
import { refusalProblem } from '../messages/send-message.ts'
import type { ServiceContext } from '../service-context.ts'

type ChangeContextRequest = {
  agent: Agent
  conversationId: ConversationId
  task: NonNullable<RunSettings['task']>
  compaction?: Partial<CompactionSettings>
  /** While another run holds the conversation: wait in its queue (default), or refuse. */
  policy?: 'enqueue' | 'reject'
}

/**
 * Shrinks the context of a conversation: by a summary, or by a reset. It is a run like any other, queued behind the
 * runs of the conversation; the messages stay readable. The status of the run is the result.
 */
export async function changeContext(request: ChangeContextRequest, context: ServiceContext): Promise<RunId> {
  const { engine, deps, defaults, organizationId } = context
  if (!engine)
    throw new Problem(
      'home-owned',
      'Another process owns this home and runs its agents. Send the request to that process.',
    )
  const { agent, conversationId, task, compaction, policy = 'enqueue' } = request
  const settings: RunSettings = {
    targets: chainOf(agent, defaults.fallback),
    maxSteps: defaults.maxSteps,
    maxDurationMs: defaults.maxDurationMs,
    streamTokens: false,
    onGuarded: 'deny',
    approvalTtlMs: defaults.approvalTtlMs,
    task,
    compaction: { ...(compactionSettingsOf(agent) ?? DEFAULT_COMPACTION), ...compaction },
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
      metadata: {},
    },
    entry: entry({ type: 'input-accepted', v: 1, inputs: [], settings }),
    policy,
    interruption: entry({ type: 'cancel-requested', v: 1, cause: 'interrupt' }),
    steering: entry({ type: 'input-steered', v: 1, inputs: [] }),
  })
  switch (opened.type) {
    case 'opened':
      engine.dispatcher.wake('queue')
      return opened.run.id
    case 'no-conversation':
      throw new Problem('not-found', `There is no conversation "${conversationId}".`)
    case 'refused':
      throw await refusalProblem(opened, context)
    case 'steered':
    case 'repeated':
    case 'key-conflict':
    case 'otid-conflict':
      throw new Error(`a run without input or key was ${opened.type}`)
  }
}
