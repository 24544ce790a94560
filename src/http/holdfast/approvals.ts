import { z } from 'zod'
import type { Verdict } from '../../core/approval.ts'
import { defined } from '../../core/defined.ts'
import { answerApproval } from '../../service/approvals/answer-approval.ts'
import { listApprovals } from '../../service/approvals/approvals.ts'
import { requireRun, runPath } from '../letta/path-params.ts'
import { operation } from '../operation.ts'
import { answeredSchema, approvalSchema, wireApproval } from './wire/approval.ts'

const callId = { tool_call_id: z.string().min(1).describe('The call that is answered.') }

const answerBody = z.object({
  approvals: z
    .array(
      z.discriminatedUnion('verdict', [
        z.object({
          ...callId,
          verdict: z.literal('approve'),
          digest: z.string().optional().describe('With it, only the arguments that were shown are approved.'),
        }),
        z.object({
          ...callId,
          verdict: z.literal('deny'),
          reason: z.string().optional().describe('What the model is told.'),
        }),
      ]),
    )
    .max(1000)
    .describe('One answer for each open call.'),
})

/** The official client knows approvals only agent by agent. */
const listApprovalsOperation = operation({
  route: 'GET /v1/approvals',
  scope: 'read',
  summary: 'Lists what waits for a person, oldest first',
  answer: z.array(approvalSchema),
  handle: async (_, context) => (await listApprovals(context)).map(wireApproval),
})

const answerApprovalOperation = operation({
  route: 'POST /v1/approvals/:run_id',
  scope: 'agent',
  summary: 'Answers all open calls of a run; the answer names the run that carries them out',
  audit: 'by-request',
  params: runPath,
  body: answerBody,
  example: { approvals: [{ tool_call_id: 'call-1', verdict: 'approve' }] },
  answer: answeredSchema,
  async handle({ params, body: { approvals } }, context) {
    const { id: runId } = await requireRun(params.run_id, context)
    return { run_id: await answerApproval({ runId, verdicts: approvals.map(verdictOf) }, context) }
  },
})

export const approvalOperations = [listApprovalsOperation, answerApprovalOperation]

function verdictOf({ tool_call_id, ...answer }: z.output<typeof answerBody>['approvals'][number]): Verdict {
  if (answer.verdict === 'deny')
    return { callId: tool_call_id, verdict: 'deny', ...defined({ reason: answer.reason || undefined }) }
  return { callId: tool_call_id, verdict: 'approve', ...defined({ digest: answer.digest || undefined }) }
}
