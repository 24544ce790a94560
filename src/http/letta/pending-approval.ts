import type { ConversationId } from '../../core/id.ts'
import type { Desk } from '../../service/desk.ts'
import { findOpenApproval } from '../../service/find-approval.ts'
import { requestSlice, type WireMessage } from './wire-message.ts'

/** The request this conversation waits with, as it is told in the history. */
export async function pendingApproval(conversationId: ConversationId, desk: Desk): Promise<WireMessage | null> {
  const open = await findOpenApproval(conversationId, desk)
  if (!open) return null
  const message = await desk.world.store.messages.get(desk.organizationId, open.answerId)
  const calls = open.calls.map(({ callId, tool, input }) => ({
    ...{ name: tool, arguments: JSON.stringify(input), tool_call_id: callId },
  }))
  const { createdAt = 0, stepId } = message ?? {}
  return requestSlice(open.answerId, calls, { at: createdAt, runId: open.runId, ...(stepId ? { stepId } : {}) })
}
