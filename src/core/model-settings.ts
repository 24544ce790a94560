import type { Agent, Conversation } from './agent.ts'
import { defined } from './defined.ts'
import type { Json, JsonObject } from './json.ts'

/** What an application asks of every answer. A dialect encodes what its model takes and reports the rest. */
export type ModelSettings = {
  temperature?: number
  topP?: number
  maxOutputTokens?: number
  parallelToolCalls?: boolean
}

/** The accepted values of the numeric settings, by the client's names. */
export const SETTING_RANGES = {
  temperature: { min: 0, max: 2 },
  top_p: { min: 0, max: 1 },
  max_output_tokens: { min: 1, max: 10_000_000 },
} as const

/** The settings for a run, parsed from the client's format: those of the conversation win over those of the agent. */
export function modelSettingsOf(
  { settings }: Pick<Agent, 'settings'>,
  { details }: Pick<Conversation, 'details'> = {},
): ModelSettings | undefined {
  const wire = settings?.wire ?? {}
  const merged = {
    // Agents of earlier versions have these two beside `model_settings`.
    ...parseModelSettings({ max_output_tokens: wire.max_tokens ?? null }),
    ...parseModelSettings({ parallel_tool_calls: wire.parallel_tool_calls ?? null }),
    ...parseModelSettings(objectOf(wire.model_settings)),
    ...parseModelSettings(objectOf(details?.wire?.model_settings)),
  }
  return Object.keys(merged).length > 0 ? merged : undefined
}

/** Parses the client's `model_settings`. Values of other types or out of range are left out; see `invalidSettings`. */
function parseModelSettings(stored: JsonObject): ModelSettings {
  return defined({
    temperature: numberIn('temperature', stored.temperature),
    topP: numberIn('top_p', stored.top_p),
    maxOutputTokens: numberIn('max_output_tokens', stored.max_output_tokens),
    parallelToolCalls: typeof stored.parallel_tool_calls === 'boolean' ? stored.parallel_tool_calls : undefined,
  })
}

/** The names of the stored settings that have no effect because of their values. */
export function invalidSettings(stored: JsonObject): string[] {
  const names = Object.keys(SETTING_RANGES) as (keyof typeof SETTING_RANGES)[]
  const isSet = (value: Json | undefined) => value !== null && value !== undefined
  return [
    ...names.filter((name) => isSet(stored[name]) && numberIn(name, stored[name]) === undefined),
    ...(isSet(stored.parallel_tool_calls) && typeof stored.parallel_tool_calls !== 'boolean'
      ? ['parallel_tool_calls']
      : []),
  ]
}

function numberIn(name: keyof typeof SETTING_RANGES, value: Json | undefined): number | undefined {
  const { min, max } = SETTING_RANGES[name]
  if (typeof value !== 'number' || value < min || value > max) return undefined
  return name === 'max_output_tokens' && !Number.isInteger(value) ? undefined : value
}

const objectOf = (value: Json | undefined): JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {}
