import { z } from 'zod'
import { type AgentId, parseId, type RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { Desk } from '../../service/desk.ts'
import { operation } from '../operation.ts'
import { agentPath, conversationOf, messagePath, requireAgent } from './addressed.ts'
import { activeRuns, cancelAll } from './cancel.ts'
import { compactBody, compactionOf, compactNow, resetNow } from './compact.ts'
import { chronological, systemMessage } from './message-history.ts'
import { messageNamed, messageQuery } from './message-page.ts'
import { type Sending, sendAndStream, sendAndWait, sendInBackground } from './send.ts'
import { type SendBody, sendBody, withModelOf } from './send-body.ts'
import { cancelledSchema } from './wire/cancelled.ts'
import { compactedSchema } from './wire/compacted.ts'
import { ofTypes, wireMessages } from './wire/message.ts'
import { messageSchema } from './wire/message-schema.ts'
import { runSchema } from './wire/run.ts'
import { responseSchema } from './wire/run-response.ts'
import { streamEventSchema } from './wire/stream-event.ts'

const EXAMPLE = { input: 'Hello' }

const send = operation({
  route: 'POST /v1/agents/:agent_id/messages',
  scope: 'agent',
  summary: 'Sends to an agent and answers when the turn is over, or streams it with `streaming: true`',
  params: agentPath,
  body: sendBody,
  example: EXAMPLE,
  answer: responseSchema,
  streams: 'on-request',
  async handle({ params, body, request, reply }, desk) {
    const sending = await sendingTo(params.agent_id, body, 'send_message', desk)
    const answer = body.streaming ? sendAndStream : sendAndWait
    return answer({ request, reply }, sending, desk)
  },
})

const sendStreaming = operation({
  route: 'POST /v1/agents/:agent_id/messages/stream',
  scope: 'agent',
  summary: 'Sends to an agent and streams the turn as it happens',
  params: agentPath,
  body: sendBody,
  example: EXAMPLE,
  answer: streamEventSchema,
  streams: 'always',
  handle: async ({ params, body, request, reply }, desk) =>
    sendAndStream({ request, reply }, await sendingTo(params.agent_id, body, 'send_message_streaming', desk), desk),
})

const sendAsync = operation({
  route: 'POST /v1/agents/:agent_id/messages/async',
  scope: 'agent',
  summary: 'Sends to an agent and answers at once with the run',
  params: agentPath,
  body: sendBody,
  example: EXAMPLE,
  answer: runSchema,
  handle: async ({ params, body, request, reply }, desk) =>
    sendInBackground({ request, reply }, await sendingTo(params.agent_id, body, 'send_message_async', desk), desk),
})

const listAgentMessages = operation({
  route: 'GET /v1/agents/:agent_id/messages',
  scope: 'read',
  summary: 'Lists the messages of an agent',
  params: agentPath,
  query: messageQuery,
  answer: z.array(messageSchema),
  async handle({ params, query }, desk) {
    const agent = await requireAgent(params.agent_id, desk)
    const conversation = await conversationOf(agent, query.conversation_id, desk)
    const messages = await chronological(conversation, query, desk)
    return messages.filter(ofTypes(query.include_return_message_types))
  },
})

const cancelAgentRuns = operation({
  route: 'POST /v1/agents/:agent_id/messages/cancel',
  scope: 'agent',
  summary: 'Cancels the active runs of an agent',
  params: agentPath,
  body: z.object({
    run_ids: z.array(z.string()).nullish().describe('These runs only; usually all that are active.'),
  }),
  answer: cancelledSchema,
  async handle({ params, body: { run_ids } }, desk) {
    const agent = await requireAgent(params.agent_id, desk)
    const active = run_ids?.length ? run_ids.map(requireRunId) : await activeRuns({ agentId: agent.id }, desk)
    return cancelAll(active, desk)
  },
})

const resetMessages = operation({
  route: 'PATCH /v1/agents/:agent_id/reset-messages',
  scope: 'agent',
  summary: 'Empties the context of the default conversation',
  params: agentPath,
  answer: z.null(),
  async handle({ params }, desk) {
    const agent = await requireAgent(params.agent_id, desk)
    await resetNow({ agent, conversationId: (await conversationOf(agent, undefined, desk)).id }, desk)
    return null
  },
})

const summarize = operation({
  route: 'POST /v1/agents/:agent_id/summarize',
  scope: 'agent',
  summary: 'Summarizes the default conversation now',
  params: agentPath,
  body: compactBody,
  answer: compactedSchema,
  async handle({ params, body }, desk) {
    const agent = await requireAgent(params.agent_id, desk)
    const { id: conversationId } = await conversationOf(agent, undefined, desk)
    return compactNow({ agent, conversationId, compaction: compactionOf(body.compaction_settings) }, desk)
  },
})

const changeMessage = operation({
  route: 'PATCH /v1/agents/:agent_id/messages/:message_id',
  scope: 'agent',
  summary: 'Refused with 405: messages are immutable',
  params: { agent_id: z.string(), message_id: z.string() },
  answer: z.never(),
  async handle() {
    throw new Problem('immutable', 'Messages are immutable: what was said stays as it was said.')
  },
})

const showMessage = operation({
  route: 'GET /v1/messages/:message_id',
  scope: 'read',
  summary: 'Shows a message, which may have several parts',
  params: messagePath,
  answer: z.array(messageSchema),
  async handle({ params: { message_id } }, desk) {
    const message = await messageNamed(message_id, desk)
    if (message) return wireMessages([message])
    const system = await systemMessage(message_id, desk)
    if (system) return [system]
    throw new Problem('not-found', `there is no message ${message_id}`)
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

/** A message to an agent goes to its default conversation; behind others it waits for its turn. */
async function sendingTo(agentId: AgentId, body: SendBody, runType: string, desk: Desk): Promise<Sending> {
  const agent = await requireAgent(agentId, desk)
  const conversation = await conversationOf(agent, undefined, desk)
  return {
    agent,
    conversationId: conversation.id,
    body: withModelOf(conversation, body),
    policy: 'enqueue',
    runType,
  }
}

function requireRunId(text: string): RunId {
  const id = parseId('run', text)
  if (id) return id
  throw new Problem('invalid-argument', `"${text.slice(0, 80)}" is not the id of a run`)
}
