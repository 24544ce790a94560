import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { canonicalJson, type Json, type JsonObject } from '../../core/json.ts'
import { EFFORTS, SETTING_RANGES, VERBOSITIES } from '../../core/model-settings.ts'
import { Problem } from '../../core/problem.ts'
import { parseResponseFormat } from '../../core/response-format.ts'
import { parseTarget } from '../../core/target.ts'
import { record } from '../field.ts'
import { withoutEffect } from '../field-fate.ts'
import { knownEndpointType } from './model-handle.ts'

const { temperature, top_p, max_output_tokens, thinking_budget, frequency_penalty } = SETTING_RANGES

const maxTokens = z.int().min(max_output_tokens.min).max(max_output_tokens.max)
export const maxTokensBody = maxTokens.nullish()

const effort = z.enum(EFFORTS).nullish()
export const budgetBody = z.int().min(thinking_budget.min).max(thinking_budget.max).nullish()

const FORMAT = 'Form of the text of each answer: `text`, `json_object`, or `json_schema` with a schema.'
const NO_SCHEMA =
  'must be a JSON schema, or an object with a `name` and a JSON schema in `schema`, as in {"type":"object","properties":{…}}'

const responseFormat = z
  .looseObject({
    type: z.enum(['text', 'json_object', 'json_schema']),
    json_schema: record.nullish().describe('The schema, or `{name, schema, strict}`.'),
  })
  .refine((format) => format.type !== 'json_schema' || parseResponseFormat(format as JsonObject) !== undefined, {
    error: NO_SCHEMA,
    path: ['json_schema'],
  })
  .nullish()

export const responseFormatBody = responseFormat

const FIELDS = {
  effort: effort.describe('Reasoning effort of Anthropic models.'),
  temperature: z.number().min(temperature.min).max(temperature.max).nullish(),
  parallel_tool_calls: z
    .boolean()
    .nullish()
    .describe('False asks for one tool call at a time, in APIs that have such an option.'),
  response_format: responseFormat.describe(FORMAT),
  strict: z.boolean().nullish().describe('Whether the vendor guarantees that arguments match the schemas of tools.'),
  verbosity: z.enum(VERBOSITIES).nullish().describe('How long answers of GPT-5 models are.'),
  frequency_penalty: z
    .number()
    .min(frequency_penalty.min)
    .max(frequency_penalty.max)
    .nullish()
    .describe('Penalty for repeated tokens, in the APIs of OpenAI (Chat) and Google.'),
  tool_call_parser: withoutEffect(z.string().nullish(), 'the server of the model chooses how it parses tool calls.'),
}

const settings = z.looseObject({
  provider_type: z.string().nullish().describe('Vendor of the settings; it must be that of the model.'),
  ...FIELDS,
  reasoning: z.looseObject({ reasoning_effort: effort }).nullish().describe('Reasoning effort.'),
  thinking: z
    .looseObject({
      type: z.enum(['enabled', 'disabled']).nullish(),
      budget_tokens: budgetBody,
      clear_thinking: withoutEffect(z.boolean().nullish(), 'thoughts are sent back as the vendor returned them.'),
    })
    .nullish()
    .describe('Thinking of Anthropic models, with its budget in tokens.'),
  thinking_config: z
    .looseObject({
      thinking_budget: budgetBody,
      include_thoughts: withoutEffect(
        z.boolean().nullish(),
        'thoughts are included if the model thinks.',
        (value) => value === false,
      ),
    })
    .nullish()
    .describe('Thinking of Google models, with its budget in tokens.'),
  response_schema: responseFormat.describe('`response_format` of Google models.'),
  top_p: z.number().min(top_p.min).max(top_p.max).nullish(),
  max_output_tokens: maxTokens.nullish().describe('Output limit of each answer. A text that reaches it ends there.'),
})

const EFFECT =
  'They are sent to the model in each request. What a model does not take is listed in `settings_left_out` of the attempts of the run. ' +
  'Other fields have no effect; the response header `x-holdfast-warnings` names them.'

export const modelSettingsBody = record.and(settings).nullish()
export const AGENT_SETTINGS = `Settings of the model; an update replaces all of them. ${EFFECT}`
export const CONVERSATION_SETTINGS = `Settings of the model that replace those of the agent, field by field. ${EFFECT}`

const DESCRIBES = 'it describes a model, and does not change it.'

export const llmConfigBody = record
  .and(
    z.looseObject({
      ...FIELDS,
      handle: z.string().nullish().describe('Model as provider/model.'),
      model: z.string().nullish().describe('Model without its provider.'),
      provider_name: z.string().nullish().describe('Provider of the model, if there is no `handle`.'),
      model_endpoint_type: z.string().nullish().describe('Provider of the model, if `provider_name` is not sent.'),
      context_window: z.int().min(1).nullish().describe('Changes `context_window_limit`.'),
      max_tokens: maxTokens.nullish().describe('Changes `max_output_tokens` of `model_settings`.'),
      reasoning_effort: effort,
      max_reasoning_tokens: budgetBody,
      enable_reasoner: z.boolean().nullish().describe('False turns reasoning off; true leaves it to the model.'),
      put_inner_thoughts_in_kwargs: withoutEffect(
        z.boolean().nullish(),
        'thoughts are not put into the arguments of tool calls.',
      ),
      return_logprobs: withoutEffect(z.boolean().nullish(), 'Holdfast does not return log probabilities.'),
      top_logprobs: withoutEffect(z.int().nullish(), 'Holdfast does not return log probabilities.'),
      return_token_ids: withoutEffect(z.boolean().nullish(), 'Holdfast does not return token ids.'),
      model_endpoint: withoutEffect(z.string().nullish(), 'set `base_url` of the provider in config.yaml.'),
      model_wrapper: withoutEffect(z.string().nullish(), 'models are called through their own APIs.'),
      compatibility_type: withoutEffect(z.string().nullish(), DESCRIBES),
      display_name: withoutEffect(z.string().nullish(), DESCRIBES),
      provider_category: withoutEffect(z.string().nullish(), DESCRIBES, (value) => value === 'byok'),
      tier: withoutEffect(z.string().nullish(), DESCRIBES),
    }),
  )
  .nullish()

type SettingFields = {
  model_settings?: JsonObject | null | undefined
  llm_config?: JsonObject | null | undefined
  max_tokens?: number | null | undefined
  max_reasoning_tokens?: number | null | undefined
  parallel_tool_calls?: boolean | null | undefined
  response_format?: object | null | undefined
}

/** The fields of older clients that have the same name and meaning in `model_settings`. */
const SAME_NAMES = [
  'temperature',
  'parallel_tool_calls',
  'effort',
  'response_format',
  'strict',
  'verbosity',
  'frequency_penalty',
] as const

/**
 * The `model_settings` after a request; undefined if it has none. The fields of older clients change the setting of the
 * same meaning, unless the request has it in `model_settings` too.
 */
export function mergedSettings(fields: SettingFields, before: Json | undefined): JsonObject | undefined {
  const { model_settings: sent } = fields
  const deprecated = deprecatedSettings(fields)
  if (!sent && Object.keys(deprecated).length === 0) return undefined
  return sent ? { ...deprecated, ...sent } : { ...(before as JsonObject | undefined), ...deprecated }
}

function deprecatedSettings({ llm_config, max_reasoning_tokens, max_tokens, ...fields }: SettingFields): JsonObject {
  const config: JsonObject = llm_config ?? {}
  const own = { parallel_tool_calls: fields.parallel_tool_calls, response_format: fields.response_format as Json }
  // Older servers return 0 where no budget is set.
  const budget = max_reasoning_tokens ?? (config.max_reasoning_tokens || undefined)
  const { reasoning_effort } = config
  return defined({
    ...defined(Object.fromEntries(SAME_NAMES.map((name) => [name, config[name] ?? undefined]))),
    ...defined(Object.fromEntries(Object.entries(own).map(([name, value]) => [name, value ?? undefined]))),
    max_output_tokens: max_tokens ?? config.max_tokens ?? undefined,
    reasoning: reasoning_effort ? { reasoning_effort } : undefined,
    thinking: budget === undefined ? undefined : { type: 'enabled', budget_tokens: budget },
  }) as JsonObject
}

/** By the vendor of the model: the fields that only other vendors have. */
const FOREIGN_FIELDS: Record<string, string[]> = {
  openai: ['thinking', 'effort', 'thinking_config', 'response_schema'],
  anthropic: ['reasoning', 'thinking_config', 'response_schema'],
  // It has no field of its own for an effort, which its newer models take.
  google_ai: ['thinking', 'effort'],
}
const isSet = (value: Json | undefined): boolean => value !== null && value !== undefined

/**
 * Refuses the settings of another vendor. What is stored already may be sent again: after a change of the model it is sent
 * to the new one in its own terms.
 */
export function requireOwnVendor({ model_settings }: SettingFields, model: string, stored?: Json): void {
  const stated = model_settings?.provider_type
  const own = knownEndpointType(parseTarget(model)?.provider ?? '')
  if (own === undefined) return
  const before = (stored ?? {}) as JsonObject
  const isNew = (name: string) => canonicalJson(model_settings?.[name] ?? null) !== canonicalJson(before[name] ?? null)
  const foreign = (FOREIGN_FIELDS[own] ?? []).find((name) => isSet(model_settings?.[name]) && isNew(name))
  if (foreign)
    throw new Problem('invalid', `body.model_settings.${foreign}: has no meaning for ${model}. Leave it out.`)
  if (typeof stated !== 'string' || stated === own) return
  throw new Problem(
    'invalid',
    `body.model_settings.provider_type: "${stated.slice(0, 80)}" is not the vendor of ${model}. Send "${own}".`,
  )
}
