import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { createAgent } from '../../service/agents/create-agent.ts'
import { MAX_FALLBACK } from '../../service/agents/model-chain.ts'
import { requireConversationAndAgent } from '../../service/conversations/conversations.ts'
import { sendMessage } from '../../service/messages/send-message.ts'
import { id } from '../field.ts'
import { requireRun, runPath } from '../letta/path-params.ts'
import { streamRun } from '../letta/stream.ts'
import { operation } from '../operation.ts'
import { chunkSchema } from './wire/chunk.ts'
import { createdAgentSchema, sentSchema } from './wire/command.ts'

/** Operations for the command line, which works through the server that owns its home. */
const createAgentWithChain = operation({
  route: 'POST /v1/holdfast/agents',
  scope: 'agent',
  summary:
    'Creates an agent with a failover chain; without `tools` it gets the memory tools, or on the scripted model the demo tools',
  body: z.object({
    name: z.string().min(1).max(500),
    model: z
      .string()
      .optional()
      .describe('First model of the chain, as provider/model. The default model of the server if it is left out.'),
    fallback: z
      .array(z.string())
      .max(MAX_FALLBACK)
      .optional()
      .default([])
      .describe('Failover models, in order, as provider/model.'),
    system: z.string().optional().describe('The system prompt.'),
    tools: z
      .array(z.string())
      .max(1000)
      .optional()
      .describe('Names of tools. Without it: the memory tools, and for the scripted model the demo tools.'),
    blocks: z
      .array(z.object({ label: z.string(), value: z.string(), description: z.string().optional() }))
      .max(200)
      .optional()
      .describe(
        'Memory blocks. Without it and without `tools`: `persona` and `human`, but none on the scripted model.',
      ),
  }),
  example: { name: 'ada', model: 'scripted/friendly' },
  answer: createdAgentSchema,
  async handle({ body: { system, model, tools, blocks, ...rest } }, context) {
    const newBlocks = blocks?.map(({ label, value, description }) => ({ label, value, ...defined({ description }) }))
    const options = defined({ system: system || undefined, model, tools, blocks: newBlocks })
    const agent = await createAgent({ ...rest, ...options }, context)
    return { id: agent.id, name: agent.name }
  },
})

const sendText = operation({
  route: 'POST /v1/holdfast/conversations/:conversation_id/messages',
  scope: 'agent',
  summary: 'Sends text to a conversation and returns its run at once; the run is queued behind earlier ones',
  params: { conversation_id: id('conv').describe('The id of a conversation.') },
  body: z.object({
    text: z.string(),
    otid: z.string().min(1).max(200).optional().describe('A repeat with the same otid attaches to the first run.'),
    on_guarded: z
      .enum(['ask', 'deny'])
      .optional()
      .describe('Whether calls that need approval wait for a person or are denied.'),
    stream_tokens: z
      .boolean()
      .optional()
      .describe('Whether the stream of the run sends tokens in place of whole steps.'),
  }),
  example: { text: 'Hello' },
  answer: sentSchema,
  async handle({ params, body: { text, otid, on_guarded, stream_tokens } }, context) {
    const { agent, conversation } = await requireConversationAndAgent(params.conversation_id, context)
    const { type, runId } = await sendMessage(
      {
        agent,
        conversationId: conversation.id,
        content: [{ type: 'text', text }],
        metadata: { run_type: 'command' },
        ...defined({ otid: otid || undefined, onGuarded: on_guarded, streamTokens: stream_tokens }),
      },
      context,
    )
    return { type, run_id: runId }
  },
})

const streamChunks = operation({
  route: 'GET /v1/runs/:run_id/chunks',
  scope: 'read',
  summary: 'Streams the stored chunks of a run with their numbers',
  params: runPath,
  query: z.object({
    starting_after: z.coerce
      .number()
      .int()
      .min(0)
      .optional()
      .default(0)
      .describe('Number of the last chunk the reader has.'),
  }),
  answer: chunkSchema,
  streams: 'always',
  async handle({ params, query, reply }, context) {
    const { id: runId } = await requireRun(params.run_id, context)
    await streamRun(reply, { runId, after: query.starting_after, view: 'chunks', pings: false }, context)
    return reply
  },
})

export const commandOperations = [createAgentWithChain, sendText, streamChunks]
