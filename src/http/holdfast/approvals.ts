import { z } from 'zod'
import type { Verdict } from '../../core/approval.ts'
import { defined } from '../../core/defined.ts'
import { answerApproval } from '../../service/approvals/answer-approval.ts'
import { listApprovals } from '../../service/approvals/approvals.ts'
import { requireRun, runPath } from '../letta/path-params.ts'
import { operation } from '../operation.ts'
import { answeredSchema, approvalSchema, wireApproval } from './wire/approval.ts'

const callId = { tool_call_id: z.string().min(1).describe('Id of the tool call.') }

const answerBody = z.object({
  approvals: z
    .array(
      z.discriminatedUnion('verdict', [
        z.object({
          ...callId,
          verdict: z.literal('approve'),
          digest: z
            .string()
            .optional()
            .describe('Digest from the list of approvals: approves exactly the arguments that were shown.'),
        }),
        z.object({
          ...callId,
          verdict: z.literal('deny'),
          reason: z.string().optional().describe('Why the call is denied; the model reads it.'),
        }),
      ]),
    )
    .max(1000)
    .describe('One decision for each pending call.'),
})

/** The official client can read approvals of one agent at a time only. */
const listApprovalsOperation = operation({
  route: 'GET /v1/approvals',
  scope: 'read',
  summary: 'Lists the runs that wait for approval, oldest first',
  answer: z.array(approvalSchema),
  handle: async (_, context) =>
    (await listApprovals(context)).map((one) => wireApproval(one, context.defaults.approvalBy)),
})

const answerApprovalOperation = operation({
  route: 'POST /v1/approvals/:run_id',
  scope: 'approve',
  summary: 'Approves or denies all pending calls of a run and returns the run that continues',
  audit: 'by-verb',
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
