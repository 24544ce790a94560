import { z } from 'zod'
import { EFFORTS, SETTING_RANGES, VERBOSITIES } from '../../core/model-settings.ts'
import { record } from '../field.ts'
import { withoutEffect } from '../field-fate.ts'

/** Fields of both APIs. docs/openai.md has them as a table. */
const { temperature, top_p } = SETTING_RANGES

export const SHARED_PARAMETERS = {
  model: z
    .string()
    .min(1)
    .max(600)
    .describe('An agent: `agent:<name>` or its id, with `/once` for a question that leaves no memory.'),
  stream: z.boolean().nullish().describe('Whether the answer is a stream of events.'),
  temperature: z.number().min(temperature.min).max(temperature.max).nullish().describe('Sampling temperature.'),
  top_p: z.number().min(top_p.min).max(top_p.max).nullish().describe('Nucleus sampling.'),
  parallel_tool_calls: z.boolean().nullish().describe('Whether the model may call several tools at once.'),
  metadata: z
    .record(z.string().max(64), z.string().max(512))
    .refine((fields) => Object.keys(fields).length <= 16, 'must have at most 16 fields')
    .nullish()
    .describe('Stored with the run and returned unchanged.'),
  user: z
    .union([z.string().max(512), z.object({ id: z.string().max(512) })])
    .nullish()
    .describe('The person behind the request. It names the conversation if nothing else does.'),
  on_guarded: z
    .enum(['deny', 'ask'])
    .nullish()
    .describe(
      'Whether calls that need approval are denied, which is the default, or wait for a person. Only Holdfast has this field.',
    ),
  service_tier: withoutEffect(
    z.string().nullish(),
    'agents name their providers themselves.',
    (tier) => tier !== 'auto',
  ),
  safety_identifier: withoutEffect(z.string().nullish(), 'it is not passed on to providers.'),
  prompt_cache_key: withoutEffect(z.string().nullish(), 'prompts are cached by conversation.'),
  prompt_cache_retention: withoutEffect(z.string().nullish(), 'prompts are cached by conversation.'),
}

export const effort = z.enum(EFFORTS).nullish().describe('How much the model reasons.')
export const verbosity = z.enum(VERBOSITIES).nullish().describe('How long the answers are.')
export const outputTokens = z.int().min(1).max(10_000_000).nullish().describe('Maximum number of tokens of an answer.')

export const functionName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,128}$/, 'must have 1 to 128 letters, digits, underscores and hyphens')
export const functionSchema = record.nullish().describe('JSON Schema of the arguments.')

/** Whether the model may use tools. An agent decides itself which one, so that a demand for one is refused. */
export const toolChoice = z
  .literal(['auto', 'none'], {
    error: 'must be "auto" or "none": an agent decides itself which tool it calls',
  })
  .nullish()
  .describe('`none` keeps the agent from using tools in this run, its own ones included.')
