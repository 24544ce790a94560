import { writeSync } from 'node:fs'
import { openApp } from '../../../src/app.ts'
import { createAgent } from '../../../src/service/agents/create-agent.ts'
import { answerApproval } from '../../../src/service/approvals/answer-approval.ts'
import { listApprovals } from '../../../src/service/approvals/approvals.ts'
import { requireConversation } from '../../../src/service/conversations/conversations.ts'
import { sendMessage } from '../../../src/service/messages/send-message.ts'
import { cancelRun } from '../../../src/service/runs/runs.ts'
import { waitForRun } from '../../../src/service/runs/watch-run.ts'
import { killScript } from '../kill/script.ts'
import { killTools } from '../kill/tools.ts'

/**
 * Marks every acknowledgment and dispatch with one line, written by one system call at that moment, for the tracer of
 * this process.
 */
const mark = (what: string) => writeSync(1, `mark ${what}\n`)

const app = await openApp({
  environment: process.env,
  role: 'owner',
  tools: killTools(() => mark('dispatched')),
  providers: { lab: killScript },
})
const { context } = app
const agent = await createAgent({ name: 'lab', model: 'lab/model', tools: ['once', 'again', 'guarded'] }, context)
mark('created')
const conversationId = (await requireConversation(agent, undefined, context)).id

for (const scenario of ['plain', 'tools', 'parallel', 'guarded', 'long', 'plain']) {
  const content = [{ type: 'text' as const, text: scenario }]
  const { runId } = await sendMessage({ agent, conversationId, content }, context)
  mark('accepted')
  if (scenario === 'long') {
    await cancelRun(runId, context)
    mark('cancelled')
  }
  await waitForRun(runId, context, AbortSignal.timeout(20_000))
  mark('ended')
  for (const { run, calls } of await listApprovals(context)) {
    const verdicts = calls.map(({ callId }) => ({ callId, verdict: 'approve' as const }))
    const next = await answerApproval({ runId: run.id, verdicts }, context)
    mark('answered')
    await waitForRun(next, context, AbortSignal.timeout(20_000))
    mark('ended')
  }
}
await app.close()
