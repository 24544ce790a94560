import { z } from 'zod'
import type { Chunk } from '../../../core/chunk.ts'
import { defined } from '../../../core/defined.ts'
import type { Usage } from '../../../core/event.ts'
import type { RunId } from '../../../core/id.ts'
import { alwaysNull } from './constant-field.ts'

const tokens = {
  completion_tokens: z.int().describe('Tokens the model wrote, reasoning included.'),
  prompt_tokens: z.int().describe('Tokens the model read, cached ones included.'),
  total_tokens: z.int().describe('`prompt_tokens` and `completion_tokens` together.'),
}

/** Counts that a provider may leave out. */
export const cachedTokensSchema = {
  cached_input_tokens: z.int().nullable().describe('Prompt tokens read from the cache; null when not reported.'),
  cache_write_tokens: z.int().nullable().describe('Prompt tokens written to the cache; null when not reported.'),
  reasoning_tokens: z.int().nullable().describe('Completion tokens spent on reasoning; null when not reported.'),
}

export const usageSchema = z.lazy(() =>
  z
    .object({
      message_type: z.literal('usage_statistics'),
      ...tokens,
      step_count: z.int().describe('Number of steps of the run.'),
      run_ids: z.array(z.string()).describe('The run these numbers belong to.'),
      ...cachedTokensSchema,
      context_tokens: alwaysNull,
    })
    .meta({
      id: 'Usage',
      description: 'Tokens of a run: its steps, its summaries, and failed attempts that the provider counted.',
    }),
)

export type WireUsage = z.output<typeof usageSchema>

type UsageChunk = Omit<Extract<Chunk, { message_type: 'usage_statistics' }>, 'message_type'>

export const wireUsage = (usage: UsageChunk, runId: RunId): WireUsage => ({
  message_type: 'usage_statistics',
  completion_tokens: usage.completion_tokens,
  prompt_tokens: usage.prompt_tokens,
  total_tokens: usage.total_tokens,
  step_count: usage.step_count,
  run_ids: [runId],
  cached_input_tokens: usage.cached_input_tokens ?? null,
  cache_write_tokens: usage.cache_write_tokens ?? null,
  reasoning_tokens: usage.reasoning_tokens ?? null,
  context_tokens: null,
})

export const tokenDetailsSchema = z.object({
  prompt_tokens_details: z
    .object({
      cached_tokens: z.int().nullable().describe('Prompt tokens read from the cache.'),
      cache_read_tokens: z.int().nullable().describe('The same as `cached_tokens`.'),
      cache_creation_tokens: z.int().nullable().describe('Prompt tokens written to the cache.'),
    })
    .nullable()
    .describe('Null when the provider reports nothing about its cache.'),
  completion_tokens_details: z
    .object({ reasoning_tokens: z.int().describe('Completion tokens spent on reasoning.') })
    .nullable()
    .describe('Null when the provider reports nothing about reasoning.'),
})

export const usageDetailsSchema = z.lazy(() =>
  z.object({ ...tokens, ...tokenDetailsSchema.shape }).meta({
    id: 'UsageDetails',
    description:
      'Tokens of a run, summaries and counted failed attempts included, with the breakdown that the provider reports.',
  }),
)

type WireUsageDetails = z.output<typeof usageDetailsSchema>

export const tokenDetails = ({
  cachedTokens,
  cacheWriteTokens,
  reasoningTokens,
}: Usage): z.output<typeof tokenDetailsSchema> => ({
  prompt_tokens_details:
    cachedTokens === undefined && cacheWriteTokens === undefined
      ? null
      : {
          cached_tokens: cachedTokens ?? null,
          cache_read_tokens: cachedTokens ?? null,
          cache_creation_tokens: cacheWriteTokens ?? null,
        },
  completion_tokens_details: reasoningTokens === undefined ? null : { reasoning_tokens: reasoningTokens },
})

/** The tokens of a run, as a stream reports them at its end. */
export function usageOf(total: Usage, { runId, steps }: { runId: RunId; steps: number }): WireUsage {
  return wireUsage(
    {
      prompt_tokens: total.promptTokens,
      completion_tokens: total.completionTokens,
      total_tokens: total.promptTokens + total.completionTokens,
      step_count: steps,
      ...defined({
        cached_input_tokens: total.cachedTokens,
        cache_write_tokens: total.cacheWriteTokens,
        reasoning_tokens: total.reasoningTokens,
      }),
    },
    runId,
  )
}

/** The same with the breakdown that `runs/{id}/usage` has. */
export const usageDetails = (total: Usage): WireUsageDetails => ({
  completion_tokens: total.completionTokens,
  prompt_tokens: total.promptTokens,
  total_tokens: total.promptTokens + total.completionTokens,
  ...tokenDetails(total),
})
