import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import type { RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { isOver } from '../../core/run.ts'
import type { ConversationSource } from '../../service/openai/place-conversation.ts'
import { cancelRun, showRun } from '../../service/runs/runs.ts'
import type { OpenedStream } from '../../service/runs/watch-run.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { flag } from '../field.ts'
import { withoutEffect } from '../field-fate.ts'
import { operation } from '../operation.ts'
import { namedConversation, personOf } from './chat.ts'
import { itemPage, itemQuery, itemsOfInputs } from './input-items.ts'
import { newOutputView, outputOptions } from './output-items.ts'
import { newResponseEvents, type ResponseEvent } from './response-events.ts'
import { freshResponse, modelOf, readResponse, requireResponseRun, responseIdOf } from './response-object.ts'
import { type ResponseBody, responseBody, responseMessages, responseSettings, responseTools } from './responses-body.ts'
import { type HttpExchange, sendToAgent, waitForEnd } from './send.ts'
import { streamInFormat } from './stream.ts'
import { itemListSchema } from './wire/item.ts'
import { openaiResponseSchema } from './wire/response.ts'

const GROUP = 'openai'
const responsePath = { response_id: z.string().max(100).describe('The id of a response.') }

const createResponse = operation({
  route: 'POST /openai/v1/responses',
  scope: 'agent',
  group: GROUP,
  summary:
    'Sends input to an agent and answers like OpenAI’s responses; with `background` at once, with `stream` as events',
  audit: 'none',
  body: responseBody,
  example: { model: 'agent:ada', input: 'Hello' },
  answer: openaiResponseSchema,
  streams: 'on-request',
  async handle({ body, request, reply }, context) {
    const runId = await sendResponse({ request, reply }, body, context)
    if (body.stream) return streamResponse({ request, reply }, { runId, after: -1 }, context)
    if (!body.background) await waitForEnd(reply, runId, context)
    const { run } = await showRun(runId, context)
    return readResponse(run, context)
  },
})

const retrieveResponse = operation({
  route: 'GET /openai/v1/responses/:response_id',
  scope: 'read',
  group: GROUP,
  summary: 'Shows a response, or streams it after the event `starting_after`',
  params: responsePath,
  query: z.object({
    stream: flag.optional().describe('Whether to stream the events of the response.'),
    starting_after: z.coerce
      .number()
      .int()
      .min(0)
      .optional()
      .describe('`sequence_number` of the last event that the reader has.'),
    include: withoutEffect(z.unknown().optional(), 'responses have everything that Holdfast keeps.'),
    include_obfuscation: withoutEffect(
      z.string().optional(),
      'streams are not obfuscated.',
      (value) => value === 'true',
    ),
  }),
  answer: openaiResponseSchema,
  streams: 'on-request',
  async handle({ params, query: { stream, starting_after }, request, reply }, context) {
    const run = await requireResponseRun(params.response_id, context)
    if (!stream) return readResponse(run, context)
    return streamResponse({ request, reply }, { runId: run.id, after: starting_after ?? -1 }, context)
  },
})

const cancelResponse = operation({
  route: 'POST /openai/v1/responses/:response_id/cancel',
  scope: 'agent',
  group: GROUP,
  summary: 'Cancels a response and waits until its turn has stopped',
  params: responsePath,
  answer: openaiResponseSchema,
  async handle({ params, reply }, context) {
    const run = await requireResponseRun(params.response_id, context)
    if (!isOver(run) || run.waiting) {
      await cancelRun(run.id, context)
      await waitForEnd(reply, run.id, context)
    }
    return readResponse(run, context)
  },
})

const deleteResponse = operation({
  route: 'DELETE /openai/v1/responses/:response_id',
  scope: 'agent',
  group: GROUP,
  summary: 'Deletes a response; its messages stay in the conversation and its run in the list of runs',
  params: responsePath,
  answer: z.object({ id: z.string(), object: z.literal('response'), deleted: z.literal(true) }),
  async handle({ params }, context) {
    const run = await requireResponseRun(params.response_id, context)
    await context.deps.store.openai.deleteResponse(context.organizationId, run.id)
    return { id: responseIdOf(run.id), object: 'response' as const, deleted: true as const }
  },
})

const listInputItems = operation({
  route: 'GET /openai/v1/responses/:response_id/input_items',
  scope: 'read',
  group: GROUP,
  summary: 'Lists the input of a response',
  params: responsePath,
  query: itemQuery,
  answer: itemListSchema,
  async handle({ params, query }, context) {
    const run = await requireResponseRun(params.response_id, context)
    const { events } = await showRun(run.id, context)
    return itemPage(itemsOfInputs(events), query)
  },
})

export const responseOperations = [createResponse, retrieveResponse, cancelResponse, deleteResponse, listInputItems]

async function sendResponse(exchange: HttpExchange, body: ResponseBody, context: ServiceContext): Promise<RunId> {
  const { model, user, stream, background, instructions, previous_response_id, tool_choice } = body
  const named = await sourceOf(body, context)
  return sendToAgent(
    exchange,
    {
      model,
      messages: responseMessages(body),
      ...defined({ named, user: personOf(user) }),
      repeatsHistory: named === undefined,
      onGuarded: body.on_guarded ?? 'deny',
      mayUseTools: tool_choice !== 'none',
      clientTools: responseTools(body),
      modelSettings: responseSettings(body),
      // A response in the background may be streamed later.
      streamTokens: (stream ?? false) || (background ?? false),
      background: background ?? false,
      runType: 'openai_response',
      echo: defined({
        model,
        instructions: instructions ?? undefined,
        previous_response_id: previous_response_id ?? undefined,
        metadata: body.metadata ?? undefined,
        max_output_tokens: body.max_output_tokens ?? undefined,
        parallel_tool_calls: body.parallel_tool_calls ?? undefined,
        reasoning: body.reasoning ? { effort: body.reasoning.effort ?? null } : undefined,
        temperature: body.temperature ?? undefined,
        top_p: body.top_p ?? undefined,
        text: body.text ? { format: body.text.format ?? { type: 'text' } } : undefined,
        tool_choice: tool_choice ?? undefined,
        tools: body.tools ?? undefined,
        user: personOf(user),
      }),
    },
    context,
  )
}

async function sourceOf(
  { conversation, previous_response_id }: ResponseBody,
  context: ServiceContext,
): Promise<ConversationSource | undefined> {
  if (conversation && previous_response_id)
    throw new Problem('invalid', 'body.conversation: send either `conversation` or `previous_response_id`')
  if (conversation) return namedConversation(typeof conversation === 'string' ? conversation : conversation.id)
  if (!previous_response_id) return undefined
  const run = await requireResponseRun(previous_response_id, context, 'previous_response_id')
  return { type: 'run', run }
}

type StreamFrom = { runId: RunId; after: number }

async function streamResponse({ reply }: HttpExchange, { runId, after }: StreamFrom, context: ServiceContext) {
  const { run, events } = await showRun(runId, context)
  const first = events[0]!.event
  const options = first.type === 'input-accepted' ? outputOptions(first) : { clientTools: new Set<string>() }
  const fresh = freshResponse(run, await modelOf(run, context), 'queued')
  const told = newResponseEvents(newOutputView(options))
  const isNew = ({ sequence_number }: ResponseEvent) => sequence_number > after
  const named = (event: ResponseEvent) => ({ name: event.type, data: event })
  return streamInFormat(
    reply,
    {
      runId,
      last: '',
      open: async (_: OpenedStream) => ({
        begin: () => told.begin(fresh).filter(isNew).map(named),
        take: (chunk) => told.take(chunk).filter(isNew).map(named),
        // A reader that names a number above the last one still learns how the response ended.
        end: async (chunk) => [named(told.end(chunk, await readResponse(run, context)))],
      }),
    },
    context,
  )
}
