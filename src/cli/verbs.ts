import type { Agent, Conversation } from '../core/agent.ts'
import type { Verdict } from '../core/approval.ts'
import type { NumberedChunk } from '../core/chunk.ts'
import type { ConversationId, RunId } from '../core/id.ts'
import type { Run } from '../core/run.ts'
import type { WatchEnd } from '../ports/streams.ts'
import { updateAgent } from '../service/agents/agents.ts'
import { type CreateAgentRequest, createAgent } from '../service/agents/create-agent.ts'
import { answerApproval } from '../service/approvals/answer-approval.ts'
import { createConversation } from '../service/conversations/conversations.ts'
import { type SendMessageRequest, sendMessage } from '../service/messages/send-message.ts'
import { cancelRun } from '../service/runs/runs.ts'
import { watchRun } from '../service/runs/watch-run.ts'
import type { ServiceContext } from '../service/service-context.ts'
import { localWorkspaceVerbs, type WorkspaceVerbs } from './workspace-verbs.ts'

type TextMessage = { agent: Agent; conversationId: ConversationId; text: string } & Pick<
  SendMessageRequest,
  'onGuarded' | 'streamTokens'
>

/** The models of an agent; absent fields stay unchanged. */
export type ModelChange = { model?: string; fallback?: string[] }

/** Operations that change or stream something: done in this process, or by the server that owns the home. */
export type Verbs = {
  send(message: TextMessage): Promise<RunId>
  watch(runId: RunId, options: { after: number; signal: AbortSignal }): AsyncGenerator<NumberedChunk, WatchEnd>
  cancel(runId: string): Promise<Run>
  answer(runId: string, verdicts: Verdict[]): Promise<RunId>
  createAgent(request: CreateAgentRequest): Promise<Agent>
  updateAgent(agent: Agent, change: ModelChange): Promise<Agent>
  createConversation(agent: Agent): Promise<Conversation>
  workspaces: WorkspaceVerbs
}

export const localVerbs = (context: ServiceContext): Verbs => ({
  async send({ text, ...rest }) {
    return (await sendMessage({ ...rest, content: [{ type: 'text', text }] }, context)).runId
  },
  watch: (runId, options) => watchRun(runId, options, context),
  cancel: (runId) => cancelRun(runId, context),
  answer: (runId, verdicts) => answerApproval({ runId, verdicts }, context),
  createAgent: (request) => createAgent(request, context),
  updateAgent: (agent, change) => updateAgent({ agent, ...change }, context),
  createConversation: (agent) => createConversation(agent, context),
  workspaces: localWorkspaceVerbs(context),
})
