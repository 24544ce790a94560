import { Option } from 'commander'
import { ADMISSION_POLICIES } from '../core/admission.ts'
import { COMMAND_APPROVALS } from '../core/command-approval.ts'
import { defined } from '../core/defined.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { Problem } from '../core/problem.ts'
import { faultIn } from '../core/session-expiry.ts'
import { parseTarget } from '../core/target.ts'
import type { HoldfastCommand } from './holdfast-command.ts'

/** What a field needs to know about the agent. */
type FieldContext = { model: string }

/** One option of `agents create` and `agents update`, and the part of the request body that it becomes. */
type AgentField = {
  flag: string
  description: string
  choices?: readonly string[]
  /** A value of null removes the setting. */
  body(value: string[], about: FieldContext): JsonObject
}

/**
 * The fields of an agent besides its name, models and tools. Parts of several fields are merged, and an update keeps what
 * the agent has in `model_settings` and `compaction_settings` beside them.
 */
const AGENT_FIELDS: readonly AgentField[] = [
  { flag: '--system <text>', description: 'System prompt of the agent.', body: ([text]) => ({ system: text! }) },
  { flag: '--description <text>', description: 'What the agent is for.', body: ([text]) => ({ description: text! }) },
  {
    flag: '--tool <name...>',
    description: 'Tools the agent may use. An update replaces all of them. Default: all except workspace tools.',
    body: (tools) => ({ tools }),
  },
  {
    flag: '--tag <tag...>',
    description: 'Tags to find the agent by. An update replaces all of them.',
    body: (tags) => ({ tags: unlessNone(tags) }),
  },
  setting('--temperature <number>', 'Randomness of the answers, 0 to 2, or none.', (text) => ({
    temperature: numberOrNull('--temperature', text),
  })),
  setting('--top-p <number>', 'Share of the likeliest tokens to choose from, 0 to 1, or none.', (text) => ({
    top_p: numberOrNull('--top-p', text),
  })),
  setting('--max-output-tokens <number>', 'Output limit of each answer, or none.', (text) => ({
    max_output_tokens: numberOrNull('--max-output-tokens', text),
  })),
  setting('--effort <level>', 'Reasoning effort: none, minimal, low, medium, high, xhigh or max.', (text, { model }) =>
    parseTarget(model)?.provider === 'anthropic'
      ? { effort: text, reasoning: null }
      : { reasoning: { reasoning_effort: text }, effort: null },
  ),
  setting('--thinking-budget <tokens>', 'Tokens for reasoning, or none.', (text, { model }) => {
    const budget = numberOrNull('--thinking-budget', text)
    if (parseTarget(model)?.provider === 'gemini')
      return { thinking_config: budget === null ? null : { thinking_budget: budget } }
    return { thinking: budget === null ? null : { type: 'enabled', budget_tokens: budget } }
  }),
  setting('--parallel-tool-calls <on|off>', 'Whether the model may call several tools at a time.', (text) => ({
    parallel_tool_calls: switchOf('--parallel-tool-calls', text),
  })),
  compaction(
    '--compaction-mode <mode>',
    'What a summary replaces: all, sliding_window, or self_… of them.',
    (text) => ({
      mode: text,
    }),
  ),
  compaction('--compaction-model <handle>', 'Model that writes summaries, as provider/model, or none.', (text) => ({
    model: text === NONE ? null : text,
  })),
  compaction('--compaction-prompt <text>', 'Instructions for the model that writes summaries, or none.', (text) => ({
    prompt: text === NONE ? null : text,
  })),
  compaction(
    '--compaction-share <number>',
    'Least share of the context that a sliding window summarizes, 0 to 1.',
    (text) => ({
      sliding_window_percentage: numberOrNull('--compaction-share', text),
    }),
  ),
  {
    flag: '--when-busy <how>',
    description: 'What a message does while a turn runs, unless it says so.',
    choices: ADMISSION_POLICIES,
    body: ([how]) => ({ when_busy: how! }),
  },
  {
    flag: '--command-approval <which>',
    description: 'Which commands wait for approval in a sandbox. Default: destructive.',
    choices: COMMAND_APPROVALS,
    body: ([which]) => ({ command_approval: which! }),
  },
  expiry('--idle-minutes <minutes>', 'End a session after this time without activity.', (text) => ({
    idle_minutes: Number(text),
  })),
  expiry('--daily-at <time>', 'End idle sessions every day at this time, as HH:MM.', (text) => ({ daily_at: text })),
  expiry('--timezone <name>', 'Time zone of --daily-at, such as Europe/Berlin. Default: UTC.', (text) => ({
    timezone: text,
  })),
  {
    flag: '--set <field=value...>',
    description: 'Any other field of the HTTP API, with a JSON value or a text.',
    body: (values) => Object.assign({}, ...values.map(fieldAndValue)),
  },
]

export type AgentFlags = Record<string, string | string[] | boolean | undefined>

export function addAgentFields(command: HoldfastCommand): HoldfastCommand {
  for (const { flag, description, choices } of AGENT_FIELDS) {
    const option = new Option(flag, description)
    command.addOption(choices ? option.choices(choices) : option)
  }
  return command
}

/** The parts of all fields that were given, as one body. */
export function agentBody(flags: AgentFlags, about: FieldContext): JsonObject {
  const parts = AGENT_FIELDS.flatMap(({ flag, body }) => {
    const value = flags[new Option(flag).attributeName()]
    if (value === undefined || typeof value === 'boolean') return []
    return [body(typeof value === 'string' ? [value] : value, about)]
  })
  const body = parts.reduce<JsonObject>(merged, {})
  refuseExpiry(body.session_expiry)
  return body
}

/** The API says the same in the names of its fields. */
function refuseExpiry(expiry: Json | undefined): void {
  if (!isObject(expiry)) return
  const { idle_minutes, daily_at, timezone } = expiry as { idle_minutes?: number; daily_at?: string; timezone?: string }
  if (timezone !== undefined && daily_at === undefined) throw new Problem('invalid', '--timezone needs --daily-at.')
  const fault = faultIn(defined({ idleMinutes: idle_minutes, dailyAt: daily_at, timezone }))
  if (fault) throw new Problem('invalid', fault)
}

const OBJECTS = ['model_settings', 'compaction_settings']

/** The API replaces these objects whole, so what the agent has in them is sent again. */
export function keepingStored(body: JsonObject, stored: JsonObject = {}): JsonObject {
  const kept = OBJECTS.filter((name) => name in body).map((name) => [
    name,
    withoutNull(mergedValue(stored[name], body[name]!)),
  ])
  return { ...body, ...Object.fromEntries(kept) }
}

/** A new agent has nothing to remove. */
export const withoutRemovals = (body: JsonObject): JsonObject => keepingStored(body)

const NONE = 'none'

const unlessNone = (values: string[]): string[] => (values.length === 1 && values[0] === NONE ? [] : values)

function setting(
  flag: string,
  description: string,
  change: (text: string, about: FieldContext) => JsonObject,
): AgentField {
  return { flag, description, body: ([text], about) => ({ model_settings: change(text!, about) }) }
}

/** An update replaces the whole rule. */
function expiry(flag: string, description: string, part: (text: string) => JsonObject): AgentField {
  return { flag, description, body: ([text]) => ({ session_expiry: part(text!) }) }
}

function compaction(flag: string, description: string, change: (text: string) => JsonObject): AgentField {
  return { flag, description, body: ([text]) => ({ compaction_settings: change(text!) }) }
}

function numberOrNull(flag: string, text: string): number | null {
  if (text === NONE) return null
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value)) return value
  throw new Problem('invalid', `${flag} must be a number or none, not "${text}".`)
}

export function switchOf(name: string, text: string): boolean {
  if (text === 'on' || text === 'off') return text === 'on'
  throw new Problem('invalid', `${name} must be on or off, not "${text}".`)
}

function fieldAndValue(text: string): JsonObject {
  const at = text.indexOf('=')
  if (at < 1)
    throw new Problem('invalid', `--set must be field=value, for example --set timezone=Europe/Oslo, not "${text}".`)
  return { [text.slice(0, at)]: jsonOrText(text.slice(at + 1)) }
}

function jsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    // A text that is not JSON is the value itself.
    return text
  }
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const mergedValue = (before: Json | undefined, after: Json): Json =>
  isObject(before) && isObject(after) ? merged(before, after) : after

const merged = (before: JsonObject, after: JsonObject): JsonObject => ({
  ...before,
  ...Object.fromEntries(Object.entries(after).map(([key, value]) => [key, mergedValue(before[key], value)])),
})

const withoutNull = (value: Json): Json =>
  isObject(value) ? Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null)) : value
