import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { EFFORTS, SETTING_RANGES } from '../../core/model-settings.ts'
import { Problem } from '../../core/problem.ts'
import { parseTarget } from '../../core/target.ts'
import { record } from '../field.ts'
import { knownEndpointType } from './model-handle.ts'

const { temperature, top_p, max_output_tokens, thinking_budget } = SETTING_RANGES

const maxTokens = z.int().min(max_output_tokens.min).max(max_output_tokens.max)

const effort = z.enum(EFFORTS).nullish()
const budget = z.int().min(thinking_budget.min).max(thinking_budget.max).nullish()

const FIELDS = {
  effort: effort.describe('Reasoning effort of Anthropic models.'),
  temperature: z.number().min(temperature.min).max(temperature.max).nullish(),
  parallel_tool_calls: z
    .boolean()
    .nullish()
    .describe('False asks for one tool call at a time, in APIs that have such an option.'),
}

const settings = z.looseObject({
  provider_type: z.string().nullish().describe('Vendor of the settings; it must be that of the model.'),
  ...FIELDS,
  reasoning: z.looseObject({ reasoning_effort: effort }).nullish().describe('Reasoning effort.'),
  thinking: z
    .looseObject({ type: z.enum(['enabled', 'disabled']).nullish(), budget_tokens: budget })
    .nullish()
    .describe('Thinking of Anthropic models, with its budget in tokens.'),
  thinking_config: z
    .looseObject({ thinking_budget: budget })
    .nullish()
    .describe('Thinking of Google models, with its budget in tokens.'),
  top_p: z.number().min(top_p.min).max(top_p.max).nullish(),
  max_output_tokens: maxTokens.nullish().describe('Output limit of each answer. A text that reaches it ends there.'),
})

const EFFECT =
  '`temperature`, `top_p`, `max_output_tokens`, `parallel_tool_calls`, and effort and budget of reasoning are sent to the model. ' +
  'What a model does not take is listed in `settings_left_out` of the attempts of the run. ' +
  'Other fields are ignored, and returned as sent.'

export const modelSettingsBody = record.and(settings).nullish()
export const AGENT_SETTINGS = `Settings of the model; an update replaces all of them. ${EFFECT}`
export const CONVERSATION_SETTINGS = `Settings of the model that replace those of the agent, field by field. ${EFFECT}`

export const llmConfigBody = record
  .and(
    z.looseObject({
      ...FIELDS,
      max_tokens: maxTokens.nullish(),
      reasoning_effort: effort,
      max_reasoning_tokens: budget,
    }),
  )
  .nullish()
export const maxTokensBody = maxTokens.nullish()

type SettingFields = {
  model_settings?: JsonObject | null | undefined
  llm_config?: JsonObject | null | undefined
  max_tokens?: number | null | undefined
  parallel_tool_calls?: boolean | null | undefined
}

/**
 * The `model_settings` after a request; undefined if it has none. The fields of older clients change the setting of the
 * same meaning, unless the request has it in `model_settings` too.
 */
export function mergedSettings(fields: SettingFields, before: Json | undefined): JsonObject | undefined {
  const { model_settings: sent, llm_config, max_tokens, parallel_tool_calls } = fields
  const { temperature, max_tokens: older, parallel_tool_calls: parallel, effort, ...config } = llm_config ?? {}
  const { reasoning_effort, max_reasoning_tokens } = config
  const deprecated: JsonObject = defined({
    temperature: temperature ?? undefined,
    max_output_tokens: max_tokens ?? older ?? undefined,
    parallel_tool_calls: parallel_tool_calls ?? parallel ?? undefined,
    effort: effort ?? undefined,
    reasoning: reasoning_effort ? { reasoning_effort } : undefined,
    // Older servers return 0 where no budget is set.
    thinking: max_reasoning_tokens ? { type: 'enabled', budget_tokens: max_reasoning_tokens } : undefined,
  })
  if (!sent && Object.keys(deprecated).length === 0) return undefined
  return sent ? { ...deprecated, ...sent } : { ...(before as JsonObject | undefined), ...deprecated }
}

/** By the vendor of the model: the fields that only other vendors have. */
const FOREIGN_FIELDS: Record<string, string[]> = {
  openai: ['thinking', 'effort', 'thinking_config'],
  anthropic: ['reasoning', 'thinking_config'],
  google_ai: ['reasoning', 'thinking', 'effort'],
}
const isSet = (value: Json | undefined): boolean => value !== null && value !== undefined

/** Refuses the settings of another vendor: their fields would have no effect. */
export function requireOwnVendor({ model_settings }: SettingFields, model: string): void {
  const stated = model_settings?.provider_type
  const own = knownEndpointType(parseTarget(model)?.provider ?? '')
  if (own === undefined) return
  const foreign = (FOREIGN_FIELDS[own] ?? []).find((name) => isSet(model_settings?.[name]))
  if (foreign)
    throw new Problem('invalid', `body.model_settings.${foreign}: has no meaning for ${model}. Leave it out.`)
  if (typeof stated !== 'string' || stated === own) return
  throw new Problem(
    'invalid',
    `body.model_settings.provider_type: "${stated.slice(0, 80)}" is not the vendor of ${model}. Send "${own}".`,
  )
}
