import { z } from 'zod'
import type { Conversation } from '../../core/agent.ts'
import { parseId, type RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { findRun, findRunByOtid, listRuns } from '../../service/runs/runs.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { operation } from '../operation.ts'
import { compactBody, compactNow, toCompactionSettings } from './compact.ts'
import { listNewestFirst } from './message-history.ts'
import { messageQuery } from './message-page.ts'
import { agentQuery, conversationPath, requireConversation } from './path-params.ts'
import { resumeBody, resumeOptions } from './resume.ts'
import { sendAndStream, sendAndWait } from './send.ts'
import { sendBody } from './send-body.ts'
import { streamRun } from './stream.ts'
import { compactedSchema } from './wire/compacted.ts'
import { ofTypes } from './wire/message.ts'
import { messageSchema } from './wire/message-schema.ts'
import { responseSchema } from './wire/run-response.ts'
import { streamEventSchema } from './wire/stream-event.ts'

/** A busy conversation is by default a 409: the request does not wait. */
const sendToConversation = operation({
  route: 'POST /v1/conversations/:conversation_id/messages',
  scope: 'agent',
  summary:
    'Sends messages to a conversation and streams the turn, unless `streaming` is false; 409 by default while it is busy',
  audit: 'none',
  params: conversationPath,
  query: agentQuery,
  body: sendBody,
  example: { input: 'Hello' },
  answer: responseSchema,
  streams: 'on-request',
  async handle({ params, query, body, request, reply }, context) {
    const agentId = body.agent_id ?? query.agent_id
    const { agent, conversation } = await requireConversation(params.conversation_id, agentId, context)
    const answer = (body.streaming ?? true) ? sendAndStream : sendAndWait
    return answer(
      { request, reply },
      {
        agent,
        conversationId: conversation.id,
        conversation,
        usual: 'reject',
        body,
        runType: conversation.isDefault ? 'send_message' : 'send_conversation_message',
      },
      context,
    )
  },
})

const listConversationMessages = operation({
  route: 'GET /v1/conversations/:conversation_id/messages',
  scope: 'read',
  summary: 'Lists the messages of a conversation',
  params: conversationPath,
  query: messageQuery.extend(agentQuery.shape),
  answer: z.array(messageSchema),
  async handle({ params, query }, context) {
    const { conversation } = await requireConversation(params.conversation_id, query.agent_id, context)
    const messages = await listNewestFirst(conversation, query, context)
    return messages.filter(ofTypes(query.include_return_message_types))
  },
})

const resumeConversation = operation({
  route: 'POST /v1/conversations/:conversation_id/stream',
  scope: 'read',
  summary: 'Resumes the stream of the active run of a conversation',
  params: conversationPath,
  query: agentQuery,
  body: resumeBody,
  example: { starting_after: 0 },
  answer: streamEventSchema,
  streams: 'always',
  async handle({ params, query, body, reply }, context) {
    const agentId = body.agent_id ?? query.agent_id
    const { conversation } = await requireConversation(params.conversation_id, agentId, context)
    const runId = await runToResume(conversation, body, context)
    await streamRun(reply, { runId, ...resumeOptions(body) }, context)
    return reply
  },
})

const compactConversation = operation({
  route: 'POST /v1/conversations/:conversation_id/compact',
  scope: 'agent',
  summary: 'Summarizes a conversation now',
  params: conversationPath,
  query: agentQuery,
  body: compactBody.extend(agentQuery.shape),
  answer: compactedSchema,
  async handle({ params, query, body }, context) {
    const agentId = body.agent_id ?? query.agent_id
    const { agent, conversation } = await requireConversation(params.conversation_id, agentId, context)
    const compaction = toCompactionSettings(body.compaction_settings, context)
    return compactNow({ agent, conversationId: conversation.id, compaction, policy: 'reject' }, context)
  },
})

export const conversationMessageOperations = [
  sendToConversation,
  listConversationMessages,
  resumeConversation,
  compactConversation,
]

/** Retry delays: a reader may be faster than the request whose otid it knows. */
const OTID_WAITS_MS = [0, 250, 500, 1_000]

/** The run that a reader names by its id or by the otid of its input; otherwise the newest active run. */
async function runToResume(
  { id: conversationId }: Conversation,
  { run_id, otid }: z.output<typeof resumeBody>,
  context: ServiceContext,
): Promise<RunId> {
  if (run_id) {
    const runId = parseId('run', run_id)
    const run = runId && (await findRun(runId, context))
    if (run?.conversationId === conversationId) return run.id
    throw new Problem('not-found', `There is no run "${run_id.slice(0, 80)}" in this conversation.`)
  }
  if (otid) {
    for (const wait of OTID_WAITS_MS) {
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
      const runId = await findRunByOtid(conversationId, otid, context)
      if (runId) return runId
    }
    throw new Problem('not-found', `There is no run with the otid "${otid.slice(0, 80)}" in this conversation.`)
  }
  const [active] = await listRuns({ conversationId, statuses: ['created', 'running'] }, 1, context)
  if (active) return active.id
  throw new Problem('invalid-argument', 'No active runs found for this conversation.')
}
