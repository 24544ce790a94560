import type { Agent, Conversation } from './agent.ts'
import { defined } from './defined.ts'
import type { Json, JsonObject } from './json.ts'
import { parseResponseFormat, type ResponseFormat } from './response-format.ts'

/** From no reasoning to the most. Each vendor has some of them. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]

export const VERBOSITIES = ['low', 'medium', 'high'] as const
export type Verbosity = (typeof VERBOSITIES)[number]

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
  responseFormat?: ResponseFormat
  /** The vendor guarantees that the arguments of calls match the schemas of the tools. */
  strictTools?: boolean
  verbosity?: Verbosity
  frequencyPenalty?: number
}

/** The accepted values of the numeric settings, by the client's names. */
export const SETTING_RANGES = {
  temperature: { min: 0, max: 2 },
  top_p: { min: 0, max: 1 },
  max_output_tokens: { min: 1, max: 10_000_000 },
  thinking_budget: { min: 0, max: 10_000_000 },
  frequency_penalty: { min: -2, max: 2 },
} as const

/** Whether, or how much, one request asks for reasoning; absent if it does not say. */
type AskedReasoning = 'on' | 'off' | Effort

/**
 * The settings for a run, parsed from the client's format: those of the request win over those of the conversation, and
 * these over those of the agent.
 */
export function modelSettingsOf(
  { settings }: Pick<Agent, 'settings'>,
  { details }: Pick<Conversation, 'details'> = {},
  asked?: AskedReasoning,
): ModelSettings | undefined {
  const wire = settings?.wire ?? {}
  const layers = [
    parseModelSettings({
      // Agents of earlier versions have these beside `model_settings`.
      max_output_tokens: wire.max_tokens ?? null,
      parallel_tool_calls: wire.parallel_tool_calls ?? null,
      response_format: wire.response_format ?? null,
    }),
    parseModelSettings(objectOf(wire.model_settings)),
    parseModelSettings(objectOf(details?.wire?.model_settings)),
  ]
  const isReasoner = typeof wire.enable_reasoner === 'boolean' ? wire.enable_reasoner : undefined
  const stated = layers.reduce(overridden, defined({ effort: isReasoner === false ? ('none' as const) : undefined }))
  const merged = withReasoning(stated, asked ?? (isReasoner ? 'on' : undefined))
  return Object.keys(merged).length > 0 ? merged : undefined
}

/** The largest context of an agent and its conversation that the application allows; absent if it does not say. */
export function windowLimitOf(
  { settings }: Pick<Agent, 'settings'>,
  { details }: Pick<Conversation, 'details'> = {},
): number | undefined {
  const limits = [details?.wire?.context_window_limit, settings?.wire?.context_window_limit]
  return limits.find((limit) => typeof limit === 'number')
}

/** Effort and budget are one setting: a layer that states either replaces both. */
function overridden(before: ModelSettings, layer: ModelSettings): ModelSettings {
  const { effort: _, thinkingBudget: __, ...others } = before
  return { ...(statesReasoning(layer) ? others : before), ...layer }
}

/** The settings of a run whose request has its own; undefined if there are none. */
export function overriddenBy(
  settings: ModelSettings | undefined,
  own: ModelSettings | undefined,
): ModelSettings | undefined {
  return own && Object.keys(own).length > 0 ? overridden(settings ?? {}, own) : settings
}

const statesReasoning = ({ effort, thinkingBudget }: ModelSettings): boolean =>
  effort !== undefined || thinkingBudget !== undefined

/** Reasoning that is asked for without saying how much. */
const USUAL_EFFORT: Effort = 'medium'

export function withReasoning(settings: ModelSettings, asked: AskedReasoning | undefined): ModelSettings {
  const { effort, thinkingBudget, ...others } = settings
  if (asked === 'off') return { ...others, effort: 'none' }
  if (asked !== undefined && asked !== 'on') return { ...others, effort: asked }
  const isOff = effort === 'none' || (effort === undefined && !thinkingBudget)
  return asked === 'on' && isOff ? { ...others, effort: USUAL_EFFORT } : settings
}

/** Parses the client's `model_settings`. Values of other types or out of range are left out; see `invalidSettings`. */
function parseModelSettings(stored: JsonObject): ModelSettings {
  return defined({
    temperature: numberIn('temperature', stored.temperature),
    topP: numberIn('top_p', stored.top_p),
    maxOutputTokens: numberIn('max_output_tokens', stored.max_output_tokens),
    parallelToolCalls: flagOf(stored.parallel_tool_calls),
    // Google's settings have another name for it.
    responseFormat: parseResponseFormat(stored.response_format ?? stored.response_schema),
    strictTools: flagOf(stored.strict),
    verbosity: VERBOSITIES.find((verbosity) => verbosity === stored.verbosity),
    frequencyPenalty: numberIn('frequency_penalty', stored.frequency_penalty),
    ...parseReasoning(stored),
  })
}

/** Each vendor has its own field for it in the client's types. */
function parseReasoning(stored: JsonObject): Pick<ModelSettings, 'effort' | 'thinkingBudget'> {
  const thinking = objectOf(stored.thinking)
  const stated = stored.effort ?? objectOf(stored.reasoning).reasoning_effort
  const budget = thinking.budget_tokens ?? objectOf(stored.thinking_config).thinking_budget
  if (thinking.type === 'disabled') return { effort: 'none' }
  const read = defined({
    effort: EFFORTS.find((effort) => effort === stated),
    thinkingBudget: numberIn('thinking_budget', budget),
  })
  return thinking.type === 'enabled' && !statesReasoning(read) ? { effort: USUAL_EFFORT } : read
}

/** How to see that a stored value has its effect, by the client's name of the setting. */
const READ_AS: Record<string, keyof ModelSettings> = {
  temperature: 'temperature',
  top_p: 'topP',
  max_output_tokens: 'maxOutputTokens',
  parallel_tool_calls: 'parallelToolCalls',
  response_format: 'responseFormat',
  response_schema: 'responseFormat',
  strict: 'strictTools',
  verbosity: 'verbosity',
  frequency_penalty: 'frequencyPenalty',
}
const REASONING = ['reasoning', 'effort', 'thinking', 'thinking_config'] as const

/** The names of the stored settings that have no effect: unknown ones, and known ones with such values. */
export function ineffectiveSettings(stored: JsonObject): string[] {
  return Object.entries(stored).flatMap(([name, value]) => (isSet(value) && !hasEffect(name, value) ? [name] : []))
}

function hasEffect(name: string, value: Json): boolean {
  if (name === 'provider_type') return true
  const parsed = parseModelSettings({ [name]: value })
  const key = READ_AS[name]
  if (key) return parsed[key] !== undefined
  if (!REASONING.some((known) => known === name)) return false
  const { type, budget_tokens, thinking_budget, reasoning_effort } = objectOf(value)
  const budgets = [budget_tokens, thinking_budget].filter(isSet)
  if (budgets.some((budget) => numberIn('thinking_budget', budget) === undefined)) return false
  const values = name === 'effort' ? [value] : [type, budget_tokens, thinking_budget, reasoning_effort]
  return !values.some(isSet) || statesReasoning(parsed)
}

const isSet = (value: Json | undefined): value is Json => value !== null && value !== undefined

const flagOf = (value: Json | undefined): boolean | undefined => (typeof value === 'boolean' ? value : undefined)

const WHOLE: ReadonlySet<string> = new Set(['max_output_tokens', 'thinking_budget'])

function numberIn(name: keyof typeof SETTING_RANGES, value: Json | undefined): number | undefined {
  const { min, max } = SETTING_RANGES[name]
  if (typeof value !== 'number' || value < min || value > max) return undefined
  return WHOLE.has(name) && !Number.isInteger(value) ? undefined : value
}

const objectOf = (value: Json | undefined): JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {}
