import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { SETTING_RANGES } from '../../core/model-settings.ts'
import { Problem } from '../../core/problem.ts'
import { parseTarget } from '../../core/target.ts'
import { record } from '../field.ts'
import { knownEndpointType } from './model-handle.ts'

const { temperature, top_p, max_output_tokens } = SETTING_RANGES

const maxTokens = z.int().min(max_output_tokens.min).max(max_output_tokens.max)

const FIELDS = {
  temperature: z.number().min(temperature.min).max(temperature.max).nullish(),
  parallel_tool_calls: z
    .boolean()
    .nullish()
    .describe('False asks for one tool call at a time, in APIs that have such an option.'),
}

const settings = z.looseObject({
  provider_type: z.string().nullish().describe('Vendor of the settings; it must be that of the model.'),
  ...FIELDS,
  top_p: z.number().min(top_p.min).max(top_p.max).nullish(),
  max_output_tokens: maxTokens.nullish().describe('Output limit of each answer. A text that reaches it ends there.'),
})

const EFFECT =
  '`temperature`, `top_p`, `max_output_tokens` and `parallel_tool_calls` are sent to the model. ' +
  'What a model does not take is listed in `settings_left_out` of the attempts of the run. ' +
  'Other fields are ignored, and returned as sent.'

export const modelSettingsBody = record.and(settings).nullish()
export const AGENT_SETTINGS = `Settings of the model; an update replaces all of them. ${EFFECT}`
export const CONVERSATION_SETTINGS = `Settings of the model that replace those of the agent, field by field. ${EFFECT}`

export const llmConfigBody = record.and(z.looseObject({ ...FIELDS, max_tokens: maxTokens.nullish() })).nullish()
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
  const { temperature, max_tokens: older, parallel_tool_calls: parallel } = llm_config ?? {}
  const deprecated: JsonObject = defined({
    temperature: temperature ?? undefined,
    max_output_tokens: max_tokens ?? older ?? undefined,
    parallel_tool_calls: parallel_tool_calls ?? parallel ?? undefined,
  })
  if (!sent && Object.keys(deprecated).length === 0) return undefined
  return sent ? { ...deprecated, ...sent } : { ...(before as JsonObject | undefined), ...deprecated }
}

/** Refuses the settings of another vendor: their fields would have no effect. */
export function requireOwnVendor({ model_settings }: SettingFields, model: string): void {
  const stated = model_settings?.provider_type
  const own = knownEndpointType(parseTarget(model)?.provider ?? '')
  if (typeof stated !== 'string' || own === undefined || stated === own) return
  throw new Problem(
    'invalid',
    `body.model_settings.provider_type: "${stated.slice(0, 80)}" is not the vendor of ${model}. Send "${own}".`,
  )
}
