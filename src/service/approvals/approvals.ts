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

/** How many messages back a repeated approval answer is recognized. */
const RECENT_MESSAGES = 50

/** The run that waited for approval of exactly these calls and has been answered. */
export async function findAnsweredApproval(
  conversationId: ConversationId,
  callIds: readonly string[],
  context: ServiceContext,
): Promise<RunId | undefined> {
  if (callIds.length === 0) return undefined
  const page = { limit: RECENT_MESSAGES, take: 'newest', cleared: 'too' } as const
  const recent = await context.deps.store.messages.list(context.organizationId, conversationId, page)
  const wanted = new Set(callIds)
  const answered = recent.findLast(({ body }) => {
    if (body.role !== 'approval' || body.decisions.length !== wanted.size) return false
    return body.decisions.every(({ callId }) => wanted.has(callId))
  })
  return answered?.runId
}
