import type { Agent, Conversation } from './agent.ts'
import { defined } from './defined.ts'
import type { Json, JsonObject } from './json.ts'

/** From no reasoning to the most. Each vendor has some of them. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]

/** What an application asks of every answer. A dialect encodes what its model takes and reports the rest. */
export type ModelSettings = {
  temperature?: number
  topP?: number
  maxOutputTokens?: number
  parallelToolCalls?: boolean
  /** How much the model reasons. */
  effort?: Effort
  /** Tokens for reasoning. */
  thinkingBudget?: number
}

/** The accepted values of the numeric settings, by the client's names. */
export const SETTING_RANGES = {
  temperature: { min: 0, max: 2 },
  top_p: { min: 0, max: 1 },
  max_output_tokens: { min: 1, max: 10_000_000 },
  thinking_budget: { min: 0, max: 10_000_000 },
} as const

/** The settings for a run, parsed from the client's format: those of the conversation win over those of the agent. */
export function modelSettingsOf(
  { settings }: Pick<Agent, 'settings'>,
  { details }: Pick<Conversation, 'details'> = {},
): ModelSettings | undefined {
  const wire = settings?.wire ?? {}
  const merged = [
    defined({ effort: wire.enable_reasoner === false ? ('none' as const) : undefined }),
    // Agents of earlier versions have these two beside `model_settings`.
    parseModelSettings({ max_output_tokens: wire.max_tokens ?? null }),
    parseModelSettings({ parallel_tool_calls: wire.parallel_tool_calls ?? null }),
    parseModelSettings(objectOf(wire.model_settings)),
    parseModelSettings(objectOf(details?.wire?.model_settings)),
  ].reduce(overridden, {})
  return Object.keys(merged).length > 0 ? merged : undefined
}

/** Effort and budget are one setting: a layer that states either replaces both. */
function overridden(before: ModelSettings, layer: ModelSettings): ModelSettings {
  const { effort: _, thinkingBudget: __, ...others } = before
  const statesReasoning = layer.effort !== undefined || layer.thinkingBudget !== undefined
  return { ...(statesReasoning ? others : before), ...layer }
}

/** Parses the client's `model_settings`. Values of other types or out of range are left out; see `invalidSettings`. */
function parseModelSettings(stored: JsonObject): ModelSettings {
  return defined({
    temperature: numberIn('temperature', stored.temperature),
    topP: numberIn('top_p', stored.top_p),
    maxOutputTokens: numberIn('max_output_tokens', stored.max_output_tokens),
    parallelToolCalls: typeof stored.parallel_tool_calls === 'boolean' ? stored.parallel_tool_calls : undefined,
    ...parseReasoning(stored),
  })
}

/** Each vendor has its own field for it in the client's types. */
function parseReasoning(stored: JsonObject): Pick<ModelSettings, 'effort' | 'thinkingBudget'> {
  const thinking = objectOf(stored.thinking)
  const stated = stored.effort ?? objectOf(stored.reasoning).reasoning_effort
  const budget = thinking.budget_tokens ?? objectOf(stored.thinking_config).thinking_budget
  if (thinking.type === 'disabled') return { effort: 'none' }
  return defined({
    effort: EFFORTS.find((effort) => effort === stated),
    thinkingBudget: numberIn('thinking_budget', budget),
  })
}

/** The names of the stored settings that have no effect because of their values. */
export function invalidSettings(stored: JsonObject): string[] {
  const names = ['temperature', 'top_p', 'max_output_tokens'] as const
  const isSet = (value: Json | undefined) => value !== null && value !== undefined
  return [
    ...names.filter((name) => isSet(stored[name]) && numberIn(name, stored[name]) === undefined),
    ...(isSet(stored.parallel_tool_calls) && typeof stored.parallel_tool_calls !== 'boolean'
      ? ['parallel_tool_calls']
      : []),
    ...['reasoning', 'effort', 'thinking', 'thinking_config'].filter((name) => {
      const { type, budget_tokens, thinking_budget, reasoning_effort } = objectOf(stored[name])
      const values = name === 'effort' ? [stored.effort] : [type, budget_tokens, thinking_budget, reasoning_effort]
      const isRead = type === 'enabled' || Object.keys(parseReasoning({ [name]: stored[name] ?? null })).length > 0
      return values.some(isSet) && !isRead
    }),
  ]
}

const WHOLE: ReadonlySet<string> = new Set(['max_output_tokens', 'thinking_budget'])

function numberIn(name: keyof typeof SETTING_RANGES, value: Json | undefined): number | undefined {
  const { min, max } = SETTING_RANGES[name]
  if (typeof value !== 'number' || value < min || value > max) return undefined
  return WHOLE.has(name) && !Number.isInteger(value) ? undefined : value
}

const objectOf = (value: Json | undefined): JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {}
