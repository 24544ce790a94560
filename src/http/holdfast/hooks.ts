import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { DEFAULT_PER_MINUTE, HOOK_SCHEMES, MAX_TEMPLATE } from '../../core/hook.ts'
import type { Json } from '../../core/json.ts'
import { Problem } from '../../core/problem.ts'
import { requireConversation } from '../../service/conversations/conversations.ts'
import {
  changeHook,
  createHook,
  deleteHook,
  hookDeliveries,
  listHooks,
  pauseHook,
  replaceHookSecret,
  requireHook,
} from '../../service/hooks/hooks.ts'
import { type IncomingRequest, receiveDelivery } from '../../service/hooks/receive-delivery.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { id, limit } from '../field.ts'
import { readJson } from '../json-body.ts'
import { requireModelIn } from '../letta/model-handle.ts'
import { requireAgentNamed } from '../letta/path-params.ts'
import { operation } from '../operation.ts'
import type { RawBody } from '../request-body.ts'
import { dateSchema, wireDate } from '../wire-date.ts'
import { hookDeliverySchema, hookSchema, newHookSchema, wireHook, wireHookDelivery } from './wire/hook.ts'

const hookPath = { hook_id: id('hook').describe('The id of a hook.') }

const secretField = z.string().min(16).max(200)

/** What can be changed later. */
const changeable = {
  name: z.string().max(200).nullish().describe('For people.'),
  events: z
    .array(z.string().max(100))
    .min(1)
    .max(100)
    .nullish()
    .describe('Events that are taken: `x-github-event` of GitHub, `type` of the body of others. Default: all.'),
  per_minute: z.int().min(1).max(10_000).nullish().describe('Deliveries that are taken per minute. Default: 60.'),
  on_guarded: z
    .enum(['deny', 'ask'])
    .nullish()
    .describe('Whether calls that need approval are denied or wait for a person. Default: deny.'),
  model: z.string().nullish().describe('Model of its runs, as provider/model.'),
  max_steps: z.int().min(1).max(10_000).nullish().describe('Maximum number of steps of a run.'),
}

const templateField = z
  .string()
  .max(MAX_TEMPLATE)
  .describe(
    'The message. `{{body.field}}`, `{{event}}` and `{{headers.name}}` are replaced; `{{body.field?}}` may be missing.',
  )

const create = operation({
  route: 'POST /v1/hooks',
  scope: 'agent',
  summary: 'Creates a hook: an address whose signed requests become messages to an agent',
  body: z.object({
    agent_id: z.string().describe('The agent.'),
    conversation_id: z.string().nullish().describe('A conversation of the agent. Default: its default conversation.'),
    ...changeable,
    scheme: z
      .enum(HOOK_SCHEMES)
      .describe('How the sender signs: Standard Webhooks, GitHub, Stripe, or HMAC-SHA256 of the body in one header.'),
    signature_header: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,80}$/)
      .nullish()
      .describe('Of the scheme `hmac`: the header with the signature, as hex or base64. Default: x-signature.'),
    secret: secretField.nullish().describe('What the sender signs with. Default: a new one, which the answer shows.'),
    template: templateField,
  }),
  example: {
    agent_id: 'agent-00000000-0000-4000-8000-000000000000',
    scheme: 'github',
    events: ['issues'],
    template: 'An issue was {{body.action}}: {{body.issue.title}}',
  },
  answer: newHookSchema,
  async handle({ body, reply }, context) {
    const agent = await requireAgentNamed(body.agent_id, context)
    const conversation =
      body.conversation_id && body.conversation_id !== 'default'
        ? await requireConversation(agent, body.conversation_id, context)
        : undefined
    const { scheme, template, name, signature_header, secret, events, per_minute, on_guarded, model, max_steps } = body
    const created = await createHook(
      {
        agent,
        scheme,
        template,
        ...defined({
          name: name ?? undefined,
          conversationId: conversation?.id,
          signatureHeader: signature_header ?? undefined,
          secret: secret ?? undefined,
          events: events ?? undefined,
          perMinute: per_minute ?? undefined,
          onGuarded: on_guarded ?? undefined,
          model: model ? requireModelIn('body.model', model, context) : undefined,
          maxSteps: max_steps ?? undefined,
        }),
      },
      context,
    )
    reply.header('cache-control', 'no-store')
    return { ...wireHook(created.hook), secret: created.secret }
  },
})

const receive = operation({
  route: 'POST /v1/hooks/:hook_id',
  scope: 'open',
  summary: 'Receives a signed request of another program, which becomes a message',
  params: hookPath,
  consumes: '*/*',
  answer: z.object({
    outcome: z.enum(['accepted', 'repeated', 'ignored']),
    run_id: z.string().nullable().describe('The run that it became.'),
  }),
  async handle({ params, request, reply }, context) {
    const { outcome, runId } = await receiveDelivery(params.hook_id, incoming(request, context), {
      ...context,
      traffic: request.server.serverContext.hookTraffic,
    })
    reply.code(outcome === 'accepted' ? 202 : 200)
    return { outcome, run_id: runId ?? null }
  },
})

function incoming(request: FastifyRequest, { limits }: ServiceContext): IncomingRequest {
  const raw = (request.body ?? { bytes: Buffer.alloc(0), isTooLarge: false }) as RawBody
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded')
  return {
    ...raw,
    headers,
    read: (bytes) => {
      const text = bytes.toString('utf8')
      const form = isForm ? Object.fromEntries(new URLSearchParams(text)) : undefined
      // GitHub sends its JSON in a form if the webhook was created so.
      const json = form?.payload ?? text
      try {
        const value = readJson(Buffer.from(json), { depth: limits.jsonDepth, values: limits.jsonValues })
        return value as Json | undefined
      } catch (fault) {
        if (!(fault instanceof Problem)) throw fault
        return form ?? text
      }
    },
  }
}

const list = operation({
  route: 'GET /v1/hooks',
  scope: 'read',
  summary: 'Lists hooks',
  answer: z.array(hookSchema),
  handle: async (_, context) => (await listHooks(context)).map(wireHook),
})

const show = operation({
  route: 'GET /v1/hooks/:hook_id',
  scope: 'read',
  summary: 'Shows a hook',
  params: hookPath,
  answer: hookSchema,
  handle: async ({ params }, context) => wireHook(await requireHook(params.hook_id, context)),
})

const update = operation({
  route: 'PATCH /v1/hooks/:hook_id',
  scope: 'agent',
  summary: 'Changes a hook; deliveries that have come stay as they are',
  params: hookPath,
  body: z
    .object(changeable)
    .extend({ template: templateField.optional() })
    .describe('What is left out stays; null is the default.'),
  example: { per_minute: 10 },
  answer: hookSchema,
  async handle({ params, body }, context) {
    const { template, name, events, per_minute, on_guarded, model, max_steps } = body
    const change = {
      template,
      name: name === null ? '' : name,
      events,
      perMinute: per_minute === null ? DEFAULT_PER_MINUTE : per_minute,
      onGuarded: on_guarded === null ? ('deny' as const) : on_guarded,
      model: model ? requireModelIn('body.model', model, context) : model === null ? null : undefined,
      maxSteps: max_steps,
    }
    return wireHook(await changeHook(params.hook_id, defined(change), context))
  },
})

const remove = operation({
  route: 'DELETE /v1/hooks/:hook_id',
  scope: 'agent',
  summary: 'Deletes a hook with its log; its runs stay',
  params: hookPath,
  answer: z.object({ deleted: z.literal(true) }),
  async handle({ params }, context) {
    await deleteHook(params.hook_id, context)
    return { deleted: true as const }
  },
})

const pause = operation({
  route: 'POST /v1/hooks/:hook_id/pause',
  scope: 'agent',
  summary: 'Pauses a hook; deliveries are refused with 503, so that their senders try again',
  params: hookPath,
  answer: hookSchema,
  handle: async ({ params }, context) => wireHook(await pauseHook(params.hook_id, { isPaused: true }, context)),
})

const resume = operation({
  route: 'POST /v1/hooks/:hook_id/resume',
  scope: 'agent',
  summary: 'Resumes a paused hook',
  params: hookPath,
  answer: hookSchema,
  handle: async ({ params }, context) => wireHook(await pauseHook(params.hook_id, { isPaused: false }, context)),
})

const replaceSecret = operation({
  route: 'POST /v1/hooks/:hook_id/secret',
  scope: 'agent',
  summary: 'Replaces the secret of a hook; the one before is accepted too for a day',
  params: hookPath,
  body: z.object({ secret: secretField.nullish().describe('The new secret. Default: a random one.') }).nullish(),
  answer: z.object({ secret: z.string(), previous_valid_until: dateSchema }),
  async handle({ params, body, reply }, context) {
    const given = defined({ secret: body?.secret ?? undefined })
    const { secret, previousUntil } = await replaceHookSecret(params.hook_id, given, context)
    reply.header('cache-control', 'no-store')
    return { secret, previous_valid_until: wireDate(previousUntil) }
  },
})

const deliveries = operation({
  route: 'GET /v1/hooks/:hook_id/deliveries',
  scope: 'read',
  summary: 'Lists the deliveries to a hook, the newest first, with the run each became or the reason why not',
  params: hookPath,
  query: z.object({
    limit: limit(50),
    before: z.coerce.number().int().optional().describe('`number` of the last item of the page before.'),
  }),
  answer: z.array(hookDeliverySchema),
  async handle({ params, query: { limit: size, before } }, context) {
    const found = await hookDeliveries(params.hook_id, { limit: size, ...defined({ before }) }, context)
    return found.map(wireHookDelivery)
  },
})

export const hookOperations = [create, receive, list, show, update, remove, pause, resume, replaceSecret, deliveries]
