import { undecidedCalls } from '../../core/approval.ts'
import type { ConversationId, MessageId, RunId } from '../../core/id.ts'
import type { Run } from '../../core/run.ts'
import type { ToolCall } from '../../core/tool-call.ts'
import { foldTurn } from '../../core/turn.ts'
import type { ServiceContext } from '../service-context.ts'

export type PendingApproval = { run: Run; calls: ToolCall[] }

/** Runs that wait for approval, oldest first. */
export async function listApprovals(context: ServiceContext): Promise<PendingApproval[]> {
  const { store } = context.deps
  const waiting = await store.runs.list(context.organizationId, { waiting: true }, { limit: 1000 })
  const pending = waiting.reverse().map(async (run) => {
    const events = await store.events.read(run.id, 0)
    return { run, calls: undecidedCalls(foldTurn(events.map(({ event }) => event))) }
  })
  return Promise.all(pending)
}

type OpenApproval = { runId: RunId; answerId: MessageId; calls: ToolCall[] }

/** The calls of this conversation that wait for approval. */
export async function findOpenApproval(
  conversationId: ConversationId,
  context: ServiceContext,
): Promise<OpenApproval | undefined> {
  const { store } = context.deps
  const [run] = await store.runs.list(context.organizationId, { conversationId, waiting: true }, { limit: 1 })
  if (!run) return undefined
  const turn = foldTurn((await store.events.read(run.id, 0)).map(({ event }) => event))
  const calls = undecidedCalls(turn)
  return turn.step && calls.length > 0 ? { runId: run.id, answerId: turn.step.answerId, calls } : undefined
}

/** The run that asked a person about any of these calls. */
export async function findAskingRun(
  conversationId: ConversationId,
  callIds: readonly string[],
  context: ServiceContext,
): Promise<RunId | undefined> {
  const asked = await context.deps.store.runs.askedAbout(conversationId, callIds)
  return asked.values().next().value
}
