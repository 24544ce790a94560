import { z } from 'zod'
import { type AgentId, parseId, type RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { operation } from '../operation.ts'
import { addWarnings } from '../warnings.ts'
import { activeRuns, cancelAll } from './cancel.ts'
import { compactBody, compactNow, resetNow, toCompactionSettings } from './compact.ts'
import { listChronological, systemMessage } from './message-history.ts'
import { findMessageByAnyId, messageQuery } from './message-page.ts'
import { agentPath, messagePath, requireAgent, requireAgentConversation } from './path-params.ts'
import { type SendRequest, sendAndStream, sendAndWait, sendInBackground } from './send.ts'
import { type SendBody, sendBody } from './send-body.ts'
import { agentSchema } from './wire/agent-schema.ts'
import { agentState, allPartsFor, isSdk } from './wire/agent-state.ts'
import { cancelledSchema } from './wire/cancelled.ts'
import { compactedSchema } from './wire/compacted.ts'
import { ofTypes, wireMessages } from './wire/message.ts'
import { messageSchema } from './wire/message-schema.ts'
import { sentRunSchema } from './wire/run.ts'
import { responseSchema } from './wire/run-response.ts'
import { streamEventSchema } from './wire/stream-event.ts'

const EXAMPLE = { input: 'Hello' }

const send = operation({
  route: 'POST /v1/agents/:agent_id/messages',
  scope: 'agent',
  summary: 'Sends messages to an agent and returns the result of the turn, or streams it with `streaming: true`',
  audit: 'none',
  params: agentPath,
  body: sendBody,
  example: EXAMPLE,
  answer: responseSchema,
  streams: 'on-request',
  async handle({ params, body, request, reply }, context) {
    const sending = await toSendRequest(params.agent_id, body, 'send_message', context)
    const answer = body.streaming ? sendAndStream : sendAndWait
    return answer({ request, reply }, sending, context)
  },
})

const sendStreaming = operation({
  route: 'POST /v1/agents/:agent_id/messages/stream',
  scope: 'agent',
  summary: 'Sends messages to an agent and streams the turn',
  audit: 'none',
  params: agentPath,
  body: sendBody,
  example: EXAMPLE,
  answer: streamEventSchema,
  streams: 'always',
  handle: async ({ params, body, request, reply }, context) =>
    sendAndStream(
      { request, reply },
      await toSendRequest(params.agent_id, body, 'send_message_streaming', context),
      context,
    ),
})

const sendAsync = operation({
  route: 'POST /v1/agents/:agent_id/messages/async',
  scope: 'agent',
  summary: 'Sends messages to an agent and returns the run at once',
  audit: 'none',
  params: agentPath,
  body: sendBody,
  example: EXAMPLE,
  answer: sentRunSchema,
  handle: async ({ params, body, request, reply }, context) =>
    sendInBackground(
      { request, reply },
      await toSendRequest(params.agent_id, body, 'send_message_async', context),
      context,
    ),
})

const listAgentMessages = operation({
  route: 'GET /v1/agents/:agent_id/messages',
  scope: 'read',
  summary: 'Lists the messages of an agent',
  params: agentPath,
  query: messageQuery,
  answer: z.array(messageSchema),
  async handle({ params, query }, context) {
    const agent = await requireAgent(params.agent_id, context)
    const conversation = await requireAgentConversation(agent, query.conversation_id, context)
    const messages = await listChronological(conversation, query, context)
    return messages.filter(ofTypes(query.include_return_message_types))
  },
})

const cancelAgentRuns = operation({
  route: 'POST /v1/agents/:agent_id/messages/cancel',
  scope: 'agent',
  summary: 'Cancels the active runs of an agent',
  params: agentPath,
  body: z.object({
    run_ids: z
      .array(z.string())
      .nullish()
      .describe('Ids of the runs to cancel. Default: all active runs of the agent.'),
  }),
  answer: cancelledSchema,
  async handle({ params, body: { run_ids } }, context) {
    const agent = await requireAgent(params.agent_id, context)
    const active = run_ids?.length ? run_ids.map(requireRunId) : await activeRuns({ agentId: agent.id }, context)
    return cancelAll(active, context)
  },
})

const resetMessages = operation({
  route: 'PATCH /v1/agents/:agent_id/reset-messages',
  scope: 'agent',
  summary: 'Clears the messages of the default conversation',
  params: agentPath,
  body: z.object({
    add_default_initial_messages: z
      .boolean()
      .nullish()
      .describe('Accepted: a new agent begins without messages, so there are none to add.'),
  }),
  answer: agentSchema.nullable().describe('Null for the official client, the agent for others.'),
  async handle({ params, body, reply, request: { headers } }, context) {
    const agent = await requireAgent(params.agent_id, context)
    await resetNow({ agent, conversationId: (await requireAgentConversation(agent, undefined, context)).id }, context)
    if (body.add_default_initial_messages)
      addWarnings(reply, ['add_default_initial_messages: a new agent begins without messages, so none were added.'])
    return isSdk(headers) ? null : agentState(await requireAgent(agent.id, context), allPartsFor(headers), context)
  },
})

const summarize = operation({
  route: 'POST /v1/agents/:agent_id/summarize',
  scope: 'agent',
  summary: 'Summarizes the default conversation now',
  params: agentPath,
  body: compactBody,
  answer: compactedSchema,
  async handle({ params, body }, context) {
    const agent = await requireAgent(params.agent_id, context)
    const { id: conversationId } = await requireAgentConversation(agent, undefined, context)
    const compaction = toCompactionSettings(body.compaction_settings, context)
    return compactNow({ agent, conversationId, compaction }, context)
  },
})

const changeMessage = operation({
  route: 'PATCH /v1/agents/:agent_id/messages/:message_id',
  scope: 'agent',
  summary: 'Always answers 405: messages are immutable',
  params: { agent_id: z.string(), message_id: z.string() },
  answer: z.never(),
  async handle() {
    throw new Problem('immutable', 'Messages are immutable and cannot be changed.')
  },
})

const showMessage = operation({
  route: 'GET /v1/messages/:message_id',
  scope: 'read',
  summary: 'Shows a message, which may have several parts',
  params: messagePath,
  answer: z.array(messageSchema),
  async handle({ params: { message_id } }, context) {
    const message = await findMessageByAnyId(message_id, context)
    if (message) return wireMessages([message])
    const system = await systemMessage(message_id, context)
    if (system) return [system]
    throw new Problem('not-found', `There is no message "${message_id}".`)
  },
})

export const messageOperations = [
  send,
  sendStreaming,
  sendAsync,
  listAgentMessages,
  cancelAgentRuns,
  resetMessages,
  summarize,
  changeMessage,
  showMessage,
]

/** A message to an agent goes to its default conversation and is by default queued behind earlier ones. */
async function toSendRequest(
  agentId: AgentId,
  body: SendBody,
  runType: string,
  context: ServiceContext,
): Promise<SendRequest> {
  const agent = await requireAgent(agentId, context)
  const conversation = await requireAgentConversation(agent, undefined, context)
  return {
    agent,
    conversationId: conversation.id,
    conversation,
    body,
    usual: 'queue',
    runType,
  }
}

function requireRunId(text: string): RunId {
  const id = parseId('run', text)
  if (id) return id
  throw new Problem(
    'invalid-argument',
    `body.run_ids: must be "run-" followed by a lowercase UUID of version 4, not "${text.slice(0, 80)}"`,
  )
}
