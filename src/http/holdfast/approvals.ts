import { z } from 'zod'
import type { Verdict } from '../../core/approval.ts'
import { answerApproval } from '../../service/approvals/answer-approval.ts'
import { listApprovals, type PendingApproval } from '../../service/approvals/approvals.ts'
import { parsed } from '../letta/parse.ts'
import { requireRun } from '../letta/runs.ts'
import { wireDate } from '../letta/wire/message.ts'
import type { Routes } from '../routes.ts'

/** What waits for a person, whichever agent asks: the official client only knows it agent by agent. */
export function registerApprovalRoutes(routes: Routes): void {
  routes.get('/v1/approvals', async (_, desk) => (await listApprovals(desk)).map(wireApproval), {
    summary: 'What waits for a person, oldest first',
  })

  routes.post(
    '/v1/approvals/:run_id',
    async ({ params, body }, desk) => {
      const { id: runId } = await requireRun(params, desk)
      const { approvals } = parsed(answerBody, body, 'body')
      return { run_id: await answerApproval({ runId, verdicts: approvals.map(verdictOf) }, desk) }
    },
    { summary: 'Answers all open calls of a run; the run that carries the answer out', body: answerBody },
  )
}

const callId = { tool_call_id: z.string().min(1) }

const answerBody = z.object({
  approvals: z
    .array(
      z.discriminatedUnion('verdict', [
        /** With the digest, only the very arguments that were shown are approved. */
        z.object({ ...callId, verdict: z.literal('approve'), digest: z.string().optional() }),
        z.object({ ...callId, verdict: z.literal('deny'), reason: z.string().optional() }),
      ]),
    )
    .max(1000),
})

function verdictOf({ tool_call_id, ...word }: z.output<typeof answerBody>['approvals'][number]): Verdict {
  if (word.verdict === 'deny')
    return { callId: tool_call_id, verdict: 'deny', ...(word.reason ? { reason: word.reason } : {}) }
  return { callId: tool_call_id, verdict: 'approve', ...(word.digest ? { digest: word.digest } : {}) }
}

const wireApproval = ({ run, calls }: PendingApproval) => ({
  ...{ run_id: run.id, agent_id: run.agentId, conversation_id: run.conversationId },
  asked_at: wireDate(run.completedAt ?? run.createdAt),
  expires_at: run.expiresAt === undefined ? null : wireDate(run.expiresAt),
  tool_calls: calls.map(({ callId: tool_call_id, tool, input, digest }) => ({
    ...{ tool_call_id, name: tool, arguments: JSON.stringify(input), digest },
  })),
})
