import type { AdmissionPolicy } from '../core/admission.ts'
import type { Agent, Conversation } from '../core/agent.ts'
import type { Verdict } from '../core/approval.ts'
import type { NumberedChunk } from '../core/chunk.ts'
import { defined } from '../core/defined.ts'
import type { ConversationId, RunId } from '../core/id.ts'
import type { Effort } from '../core/model-settings.ts'
import type { Run } from '../core/run.ts'
import type { SessionExpiry } from '../core/session-expiry.ts'
import type { WatchEnd } from '../ports/streams.ts'
import { updateAgent, withOwnSettings } from '../service/agents/agents.ts'
import { type CreateAgentRequest, createAgent } from '../service/agents/create-agent.ts'
import { answerApproval } from '../service/approvals/answer-approval.ts'
import { useModel } from '../service/conversations/conversation-model.ts'
import { createConversation } from '../service/conversations/conversations.ts'
import { leaveConversation } from '../service/conversations/sessions.ts'
import { type SendMessageRequest, type SendResult, sendMessage } from '../service/messages/send-message.ts'
import { cancelRun } from '../service/runs/runs.ts'
import { watchRun } from '../service/runs/watch-run.ts'
import type { ServiceContext } from '../service/service-context.ts'
import { localWorkspaceVerbs, type WorkspaceVerbs } from './workspace-verbs.ts'

type TextMessage = { agent: Agent; conversationId: ConversationId; text: string; reasoning?: Effort } & Pick<
  SendMessageRequest,
  'onGuarded' | 'streamTokens'
> & { whenBusy?: AdmissionPolicy; otid?: string }

/** Absent fields stay unchanged; null turns a setting off. */
export type AgentChange = {
  model?: string
  fallback?: string[]
  whenBusy?: AdmissionPolicy | null
  sessionExpiry?: SessionExpiry | null
}

/** What became of a message. */
export type SentText = Pick<SendResult, 'type' | 'runId' | 'request'>

/** Operations that change or stream something: done in this process, or by the server that owns the home. */
export type Verbs = {
  send(message: TextMessage): Promise<SentText>
  watch(runId: RunId, options: { after: number; signal: AbortSignal }): AsyncGenerator<NumberedChunk, WatchEnd>
  cancel(runId: string): Promise<Run>
  answer(runId: string, verdicts: Verdict[]): Promise<RunId>
  createAgent(request: CreateAgentRequest): Promise<Agent>
  updateAgent(agent: Agent, change: AgentChange): Promise<Agent>
  /** The processes of the conversation that is left for the new one end. */
  createConversation(agent: Agent, leaves?: ConversationId): Promise<Conversation>
  /** The model of one conversation; undefined means that of its agent. */
  setConversationModel(conversation: Conversation, model: string | undefined): Promise<Conversation>
  workspaces: WorkspaceVerbs
}

export const localVerbs = (context: ServiceContext): Verbs => ({
  async send({ text, whenBusy, ...rest }) {
    const message = { ...rest, content: [{ type: 'text' as const, text }], ...defined({ policy: whenBusy }) }
    return sendMessage(message, context)
  },
  watch: (runId, options) => watchRun(runId, options, context),
  cancel: (runId) => cancelRun(runId, context),
  answer: (runId, verdicts) => answerApproval({ runId, verdicts }, context),
  createAgent: (request) => createAgent(request, context),
  updateAgent: (agent, { whenBusy, sessionExpiry, ...models }) =>
    updateAgent({ agent, ...models, settings: withOwnSettings({ whenBusy, sessionExpiry }) }, context),
  async createConversation(agent, leaves) {
    const created = await createConversation(agent, context)
    if (leaves) await leaveConversation({ agent, conversationId: leaves }, context)
    return created
  },
  setConversationModel: (conversation, model) => useModel(conversation.id, model, context),
  workspaces: localWorkspaceVerbs(context),
})
