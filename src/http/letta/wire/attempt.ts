import { z } from 'zod'
import type { FailedAttempt, RunAttempt } from '../../../service/runs/attempts.ts'
import { dateSchema, wireDate } from '../../wire-date.ts'
import { cachedTokensSchema } from './usage.ts'

const failureSchema = z.lazy(() =>
  z.object({
    kind: z.string().describe('Kind of the failure, such as rate-limited.'),
    detail: z.string().describe('What the provider or the network reported.'),
    remedy: z.string().describe('What Holdfast did about it, such as wait or next-target.'),
    wait_ms: z.number().nullable().describe('Milliseconds Holdfast waited before the next attempt.'),
    next_target: z.string().nullable().describe('Model of the next attempt, where the remedy changes it.'),
    http_status: z.int().nullable().describe('HTTP status of the provider.'),
    code: z.string().nullable().describe('Error code of the provider.'),
    request_id: z.string().nullable().describe('Id of the request at the provider, for its support.'),
    advice: z.string().nullable().describe('What a person can do about it.'),
    may_have_cost: z.boolean().describe('Whether the provider may charge for the attempt although it failed.'),
    cooldown: z
      .object({
        of: z.enum(['credential', 'endpoint']).describe('What is cooling down.'),
        until: dateSchema,
        reason: z.string().describe('Kind of the failure that caused it.'),
      })
      .nullable()
      .describe('Cooldown of a credential or an endpoint that this failure caused.'),
  }),
)

export const attemptSchema = z.lazy(() =>
  z
    .object({
      date: dateSchema.describe('When the attempt ended.'),
      target: z.string().describe('Model of the attempt, as provider/model.'),
      purpose: z.enum(['answer', 'summary']).describe('`summary` is an attempt of compaction.'),
      outcome: z.enum(['answered', 'failed']),
      failure: failureSchema.nullable().describe('Why the attempt failed; null when it was answered.'),
      credential: z.string().nullable().describe('Name of the credential that was used.'),
      prompt_tokens: z.int().nullable().describe('Tokens the model read; null when not reported.'),
      completion_tokens: z.int().nullable().describe('Tokens the model wrote; null when not reported.'),
      ...cachedTokensSchema,
      settings_left_out: z
        .array(z.string())
        .describe('Model settings that were not sent because the model does not take them, each with the reason.'),
      cost_usd: z.number().nullable().describe('Cost in US dollars; null when no price is known.'),
    })
    .meta({ id: 'Attempt', description: 'One request to one model, and its outcome.' }),
)

type WireAttempt = z.output<typeof attemptSchema>

export function wireAttempt(attempt: RunAttempt): WireAttempt {
  const { at, target, purpose, outcome, usage, cost, credential } = attempt
  return {
    date: wireDate(at),
    target,
    purpose,
    outcome,
    failure: attempt.outcome === 'failed' ? wireFailure(attempt) : null,
    credential: credential ?? null,
    prompt_tokens: usage?.promptTokens ?? null,
    completion_tokens: usage?.completionTokens ?? null,
    cached_input_tokens: usage?.cachedTokens ?? null,
    cache_write_tokens: usage?.cacheWriteTokens ?? null,
    reasoning_tokens: usage?.reasoningTokens ?? null,
    settings_left_out: attempt.settingsLeftOut ?? [],
    cost_usd: cost ?? null,
  }
}

const wireFailure = (failed: FailedAttempt): z.output<typeof failureSchema> => ({
  kind: failed.kind,
  detail: failed.detail,
  remedy: failed.remedy,
  wait_ms: failed.waitMs ?? null,
  next_target: failed.nextTarget ?? null,
  http_status: failed.providerResponse.status ?? null,
  code: failed.providerResponse.code ?? null,
  request_id: failed.providerResponse.requestId ?? null,
  advice: failed.advice ?? null,
  may_have_cost: failed.mayHaveCost,
  cooldown: failed.cooldown ? wireCooldown(failed.cooldown) : null,
})

const wireCooldown = ({ scope, until, reason }: NonNullable<FailedAttempt['cooldown']>) => ({
  of: scope,
  until: wireDate(until),
  reason,
})
