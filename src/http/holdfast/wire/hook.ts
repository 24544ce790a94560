import { z } from 'zod'
import { HOOK_OUTCOMES, HOOK_SCHEMES, type Hook } from '../../../core/hook.ts'
import type { StoredHookDelivery } from '../../../ports/hook-store.ts'

const hookFields = {
  id: z.string(),
  path: z.string().describe('Where the sender posts to.'),
  agent_id: z.string(),
  conversation_id: z.string().nullable().describe('Null: the default conversation of the agent.'),
  name: z.string(),
  state: z.enum(['active', 'paused']),
  scheme: z.enum(HOOK_SCHEMES),
  signature_header: z.string().nullable().describe('Of the scheme `hmac`.'),
  template: z.string(),
  events: z.array(z.string()).nullable().describe('Null: every event.'),
  per_minute: z.int(),
  on_guarded: z.enum(['deny', 'ask']).describe('What happens to calls that need approval.'),
  model: z.string().nullable(),
  max_steps: z.int().nullable(),
  created_by: z.string().describe('The key that created it, `home` or `command-line`.'),
  created_at: z.string(),
}

export const hookSchema = z.lazy(() =>
  z.object(hookFields).meta({ id: 'Hook', description: 'An address whose signed requests become messages.' }),
)

export const newHookSchema = z.lazy(() =>
  z
    .object({ ...hookFields, secret: z.string().describe('What signs. No other response contains it.') })
    .meta({ id: 'NewHook', description: 'A new hook with its secret.' }),
)

export const wireHook = (hook: Hook): z.output<typeof hookSchema> => ({
  id: hook.id,
  path: `/v1/hooks/${hook.id}`,
  agent_id: hook.agentId,
  conversation_id: hook.conversationId ?? null,
  name: hook.name,
  state: hook.isPaused ? 'paused' : 'active',
  scheme: hook.scheme,
  signature_header: hook.scheme === 'hmac' ? hook.signatureHeader : null,
  template: hook.template,
  events: hook.events ?? null,
  per_minute: hook.perMinute,
  on_guarded: hook.onGuarded,
  model: hook.model ?? null,
  max_steps: hook.maxSteps ?? null,
  created_by: hook.createdBy.actor,
  created_at: new Date(hook.createdAt).toISOString(),
})

export const hookDeliverySchema = z.lazy(() =>
  z
    .object({
      number: z.int(),
      delivery_id: z.string().nullable().describe('As the sender names it, or the digest of the body.'),
      event: z.string().nullable(),
      outcome: z.enum(HOOK_OUTCOMES),
      run_id: z.string().nullable().describe('The run it became.'),
      reason: z.string().nullable().describe('Why it became none.'),
      bytes: z.int(),
      repeats: z.int().describe('How often it came again.'),
      received_at: z.string(),
    })
    .meta({ id: 'HookDelivery', description: 'A request to a hook, and what became of it.' }),
)

export const wireHookDelivery = (delivery: StoredHookDelivery): z.output<typeof hookDeliverySchema> => ({
  number: delivery.number,
  delivery_id: delivery.deliveryId ?? null,
  event: delivery.event ?? null,
  outcome: delivery.outcome,
  run_id: delivery.runId ?? null,
  reason: delivery.reason ?? null,
  bytes: delivery.bytes,
  repeats: delivery.repeats,
  received_at: new Date(delivery.receivedAt).toISOString(),
})
