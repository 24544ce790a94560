import { z } from 'zod'
import { type ConversationId, parseId } from '../../core/id.ts'
import { createAgent } from '../../service/agents/create-agent.ts'
import { requireConversationAndAgent } from '../../service/conversations/conversations.ts'
import { sendMessage } from '../../service/messages/send-message.ts'
import { refuse } from '../letta/errors.ts'
import { parsed } from '../letta/parse.ts'
import { requireRun } from '../letta/runs.ts'
import { streamRun } from '../letta/stream.ts'
import type { Routes } from '../routes.ts'

/** What the command line asks of the server that owns its home, where the official client has no words for it. */
export function registerCommandRoutes(routes: Routes): void {
  routes.post(
    '/v1/holdfast/agents',
    async ({ body }, desk) => {
      const { system, tools, ...asked } = parsed(agentBody, body, 'body')
      const request = { ...asked, ...(system ? { system } : {}), ...(tools ? { tools } : {}) }
      const { id, name } = await createAgent(request, desk)
      return { id, name }
    },
    {
      summary: 'Makes an agent with a chain of models; without tools it has all but those of workspaces',
      body: agentBody,
    },
  )

  routes.post(
    '/v1/holdfast/conversations/:conversation_id/messages',
    async ({ params, body }, desk) => {
      const { agent, conversation } = await requireConversationAndAgent(conversationIn(params), desk)
      const { text, otid, on_guarded, stream_tokens } = parsed(textBody, body, 'body')
      const { type, runId } = await sendMessage(
        {
          ...{ agent, conversationId: conversation.id, content: [{ type: 'text' as const, text }] },
          ...{ metadata: { run_type: 'command' }, ...(otid ? { otid } : {}) },
          ...(on_guarded ? { onGuarded: on_guarded } : {}),
          ...(stream_tokens === undefined ? {} : { streamTokens: stream_tokens }),
        },
        desk,
      )
      return { type, run_id: runId }
    },
    { summary: 'Says something and answers at once with its run; behind others it waits its turn', body: textBody },
  )

  routes.get(
    '/v1/runs/:run_id/chunks',
    async ({ params, query }, desk, reply) => {
      const { id: runId } = await requireRun(params, desk)
      const { starting_after } = parsed(chunkQuery, query, 'query')
      await streamRun(reply, { runId, after: starting_after, view: 'chunks', pings: false }, desk)
      return reply
    },
    { summary: 'The stream of a run as it is kept, every chunk with its number', query: chunkQuery },
  )
}

const agentBody = z.object({
  name: z.string().min(1).max(500),
  model: z.string(),
  fallback: z.array(z.string()).max(100).optional().default([]),
  system: z.string().optional(),
  tools: z.array(z.string()).max(1000).optional(),
})

const textBody = z.object({
  text: z.string(),
  /** A repeat under the same name attaches to the run of the first. */
  otid: z.string().min(1).max(200).optional(),
  /** Whether calls that need approval wait for a person or are declined. */
  on_guarded: z.enum(['ask', 'deny']).optional(),
  stream_tokens: z.boolean().optional(),
})

const chunkQuery = z.object({ starting_after: z.coerce.number().int().min(0).optional().default(0) })

function conversationIn(params: unknown): ConversationId {
  const { conversation_id: text } = params as { conversation_id: string }
  const id = parseId('conv', text)
  if (id) return id
  throw refuse(422, `path.conversation_id: "${text.slice(0, 80)}" is not the id of a conversation`)
}
