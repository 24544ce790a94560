import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { EFFORTS } from '../../core/model-settings.ts'
import { Problem } from '../../core/problem.ts'
import { requireConversationAndAgent } from '../../service/conversations/conversations.ts'
import { sendMessage } from '../../service/messages/send-message.ts'
import { id } from '../field.ts'
import { newAgentBody } from '../letta/agent-body.ts'
import { createAgentFrom } from '../letta/agents.ts'
import { requireRun, runPath } from '../letta/path-params.ts'
import { requireOverrideModel } from '../letta/send.ts'
import { contentBody, sendBody, toInputParts } from '../letta/send-body.ts'
import { streamRun } from '../letta/stream.ts'
import { operation } from '../operation.ts'
import { chunkSchema } from './wire/chunk.ts'
import { createdAgentSchema, sentSchema } from './wire/command.ts'

/** Operations for the command line, which works through the server that owns its home. */
const createAgentWithChain = operation({
  route: 'POST /v1/holdfast/agents',
  scope: 'agent',
  summary:
    'Creates an agent as POST /v1/agents does; without `tools` it gets the memory tools, or on the scripted model the demo tools',
  body: newAgentBody.omit({ include_base_tools: true }).extend({
    name: z.string().min(1).max(500),
    tools: newAgentBody.shape.tools.describe(
      'Names of tools. Without it: the memory tools, and for the scripted model the demo tools.',
    ),
    memory_blocks: newAgentBody.shape.memory_blocks.describe(
      'Memory blocks. Without it and without `tools`: `persona` and `human`, but none on the scripted model.',
    ),
    blocks: newAgentBody.shape.memory_blocks.describe('Older form of `memory_blocks`.'),
  }),
  example: { name: 'ada', model: 'scripted/friendly' },
  answer: createdAgentSchema,
  async handle({ body: { blocks, ...body }, reply }, context) {
    const agent = await createAgentFrom({ ...body, memory_blocks: body.memory_blocks ?? blocks }, reply, context)
    return { id: agent.id, name: agent.name }
  },
})

const sendText = operation({
  route: 'POST /v1/holdfast/conversations/:conversation_id/messages',
  scope: 'agent',
  summary: 'Sends text to a conversation and returns its run at once; by default the run is queued behind earlier ones',
  audit: 'none',
  params: { conversation_id: id('conv').describe('The id of a conversation.') },
  body: z.object({
    text: z.string().optional().describe('The message. Either this or `content`.'),
    content: contentBody.optional().describe('The message as a list of texts and images. Either this or `text`.'),
    otid: z.string().min(1).max(200).optional().describe('A repeat with the same otid attaches to the first run.'),
    on_guarded: z
      .enum(['ask', 'deny'])
      .optional()
      .describe('Whether calls that need approval wait for a person or are denied.'),
    stream_tokens: z
      .boolean()
      .optional()
      .describe('Whether the stream of the run sends tokens in place of whole steps.'),
    reasoning_effort: z
      .enum(EFFORTS)
      .optional()
      .describe('How much the model reasons in this turn, in place of what agent and conversation say.'),
    when_busy: sendBody.shape.when_busy,
    override_model: sendBody.shape.override_model,
  }),
  example: { text: 'Hello' },
  answer: sentSchema,
  async handle({ params, body }, context) {
    const { text, content, otid, on_guarded, stream_tokens, reasoning_effort, when_busy, override_model } = body
    const message = content ?? text
    if (message === undefined || (content !== undefined && text !== undefined))
      throw new Problem('invalid', 'body: send either `text` or `content`')
    const { agent, conversation } = await requireConversationAndAgent(params.conversation_id, context)
    const sent = await sendMessage(
      {
        agent,
        conversationId: conversation.id,
        conversation,
        content: toInputParts(message),
        metadata: { run_type: 'command' },
        ...defined({
          otid: otid || undefined,
          onGuarded: on_guarded,
          streamTokens: stream_tokens,
          reasoning: reasoning_effort,
          policy: when_busy ?? undefined,
          model: override_model ? requireOverrideModel(override_model, context) : undefined,
        }),
      },
      context,
    )
    const { type, runId, request, isQueued = false } = sent
    return { type, run_id: runId, request, queued: isQueued }
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
