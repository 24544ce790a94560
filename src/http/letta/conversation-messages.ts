import { z } from 'zod'
import type { Conversation } from '../../core/agent.ts'
import { parseId, type RunId } from '../../core/id.ts'
import type { Desk } from '../../service/desk.ts'
import { findRun, findRunByOtid, listRuns } from '../../service/runs/runs.ts'
import type { Routes } from '../routes.ts'
import { compactNow } from './compact.ts'
import { requireConversation } from './conversation-address.ts'
import { refuse } from './errors.ts'
import { newestFirst } from './message-history.ts'
import { messageQuery } from './message-page.ts'
import { compactBody, compactionOf } from './messages.ts'
import { parsed } from './parse.ts'
import { resumeBody, resumeWishes } from './runs.ts'
import { sendAndAnswer } from './send.ts'
import { sendBody, withModelOf } from './send-body.ts'
import { streamRun } from './stream.ts'
import { ofTypes } from './wire/message.ts'

const CONVERSATION = '/v1/conversations/:conversation_id'

/** Sending to one conversation and reading it. Whoever finds it busy is told so and does not wait. */
export function registerConversationMessageRoutes(routes: Routes): void {
  routes.post(
    `${CONVERSATION}/messages`,
    async (request, desk, reply) => {
      const body = parsed(sendBody, request.body, 'body')
      const { agent_id } = parsed(agentQuery, request.query, 'query')
      const { agent, conversation } = await requireConversation(request.params, body.agent_id ?? agent_id, desk)
      const isStream = body.streaming ?? true
      if (!isStream && (body.stream_tokens || body.background))
        throw refuse(422, 'body: `stream_tokens` and `background` need `streaming: true`')
      return sendAndAnswer(
        { request, reply },
        {
          ...{ agent, conversationId: conversation.id, mode: isStream ? 'stream' : 'blocking', policy: 'reject' },
          body: withModelOf(conversation, body),
          runType: conversation.isDefault ? 'send_message' : 'send_conversation_message',
        },
        desk,
      )
    },
    { body: sendBody, query: agentQuery },
  )

  routes.get(`${CONVERSATION}/messages`, async ({ params, query }, desk) => {
    const asked = parsed(messageQuery.extend(agentQuery.shape), query, 'query')
    const { conversation } = await requireConversation(params, asked.agent_id, desk)
    const messages = await newestFirst(conversation, asked, desk)
    return messages.filter(ofTypes(asked.include_return_message_types))
  })

  routes.post(
    `${CONVERSATION}/stream`,
    async ({ params, query, body }, desk, reply) => {
      const asked = parsed(resumeBody, body, 'body')
      const { agent_id } = parsed(agentQuery, query, 'query')
      const { conversation } = await requireConversation(params, asked.agent_id ?? agent_id, desk)
      const runId = await runToResume(conversation, asked, desk)
      await streamRun(reply, { runId, ...resumeWishes(asked) }, desk)
      return reply
    },
    { body: resumeBody, query: agentQuery },
  )

  routes.post(
    `${CONVERSATION}/compact`,
    async ({ params, query, body }, desk) => {
      const asked = parsed(compactBody.extend(agentQuery.shape), body, 'body')
      const { agent_id } = parsed(agentQuery, query, 'query')
      const { agent, conversation } = await requireConversation(params, asked.agent_id ?? agent_id, desk)
      const compaction = compactionOf(asked.compaction_settings)
      return compactNow({ agent, conversationId: conversation.id, compaction, policy: 'reject' }, desk)
    },
    { query: agentQuery },
  )
}

const agentQuery = z.object({ agent_id: z.string().nullish() })

/** A reader may be faster than the request whose otid it knows. */
const OTID_WAITS_MS = [0, 250, 500, 1_000]

/** The run a reader names, by its id or by the otid of what it was told; otherwise the newest that goes on. */
async function runToResume(
  { id: conversationId }: Conversation,
  { run_id, otid }: z.output<typeof resumeBody>,
  desk: Desk,
): Promise<RunId> {
  if (run_id) {
    const runId = parseId('run', run_id)
    const run = runId && (await findRun(runId, desk))
    if (run?.conversationId === conversationId) return run.id
    throw refuse(404, `NOT_FOUND: there is no run ${run_id.slice(0, 80)} in this conversation`)
  }
  if (otid) {
    for (const wait of OTID_WAITS_MS) {
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
      const runId = await findRunByOtid(conversationId, otid, desk)
      if (runId) return runId
    }
    throw refuse(404, `NOT_FOUND: no run of this conversation was told "${otid.slice(0, 80)}"`)
  }
  const [active] = await listRuns({ conversationId, statuses: ['created', 'running'] }, 1, desk)
  if (active) return active.id
  throw refuse(400, 'INVALID_ARGUMENT: No active runs found for this conversation.')
}
