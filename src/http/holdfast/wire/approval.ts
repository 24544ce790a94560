import { z } from 'zod'
import { APPROVERS, type Approver } from '../../../core/approval.ts'
import type { PendingApproval } from '../../../service/approvals/approvals.ts'
import { dateSchema, wireDate } from '../../wire-date.ts'

export const approvalSchema = z.lazy(() =>
  z
    .object({
      run_id: z.string().describe('Run that waits. Answer its calls with POST /v1/approvals/{run_id}.'),
      agent_id: z.string(),
      conversation_id: z.string(),
      asked_at: dateSchema,
      expires_at: dateSchema.nullable().describe('When calls without an answer are denied; null for never.'),
      may_approve: z
        .enum(APPROVERS)
        .describe('`another-key`: not the key that sent the messages of the turn. Any key with the scope may deny.'),
      tool_calls: z.array(
        z.object({
          tool_call_id: z.string(),
          name: z.string().describe('Name of the tool.'),
          arguments: z.string().describe('Arguments as JSON text.'),
          digest: z.string().describe('Hash of tool and arguments; send it back to approve exactly these arguments.'),
        }),
      ),
    })
    .meta({ id: 'Approval', description: 'A run whose tool calls wait for approval.' }),
)

type WireApproval = z.output<typeof approvalSchema>

export const wireApproval = ({ run, calls }: PendingApproval, mayApprove: Approver = 'any-key'): WireApproval => ({
  run_id: run.id,
  agent_id: run.agentId,
  conversation_id: run.conversationId,
  asked_at: wireDate(run.completedAt ?? run.createdAt),
  expires_at: run.expiresAt === undefined ? null : wireDate(run.expiresAt),
  may_approve: mayApprove,
  tool_calls: calls.map(({ callId, tool, input, digest }) => ({
    tool_call_id: callId,
    name: tool,
    arguments: JSON.stringify(input),
    digest,
  })),
})

export const answeredSchema = z.lazy(() =>
  z.object({ run_id: z.string().describe('Run that continues with the answer.') }),
)
