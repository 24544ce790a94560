import { defined } from './defined.ts'
import type { JsonObject } from './json.ts'
import { ineffectiveSettings, type ModelSettings } from './model-settings.ts'
import { Problem } from './problem.ts'
import type { ResponseFormat } from './response-format.ts'

/** The settings of a program in the client's format, which is how they are stored. Faulty ones are refused by name. */
export function storedSettings(settings: ModelSettings): JsonObject {
  const stored: JsonObject = {}
  for (const [name, value] of Object.entries(settings)) {
    if (value === undefined) continue
    const form = Object.hasOwn(STORED, name) ? STORED[name as keyof ModelSettings](value as never) : undefined
    if (form === undefined || ineffectiveSettings(form).length > 0)
      throw new Problem(
        'invalid',
        `modelSettings.${name}: ${JSON.stringify(value).slice(0, 80)} would have no effect. See ModelSettings for the names and ranges.`,
      )
    Object.assign(stored, form)
  }
  return stored
}

const STORED: { [Name in keyof Required<ModelSettings>]: (value: NonNullable<ModelSettings[Name]>) => JsonObject } = {
  temperature: (temperature) => ({ temperature }),
  topP: (top_p) => ({ top_p }),
  maxOutputTokens: (max_output_tokens) => ({ max_output_tokens }),
  parallelToolCalls: (parallel_tool_calls) => ({ parallel_tool_calls }),
  effort: (effort) => ({ effort }),
  thinkingBudget: (budget_tokens) => ({ thinking: { type: 'enabled', budget_tokens } }),
  responseFormat: (format) => ({ response_format: storedFormat(format) }),
  strictTools: (strict) => ({ strict }),
  verbosity: (verbosity) => ({ verbosity }),
  frequencyPenalty: (frequency_penalty) => ({ frequency_penalty }),
}

function storedFormat(format: ResponseFormat): JsonObject {
  if (format.type !== 'json-schema') return { type: format.type === 'json' ? 'json_object' : format.type }
  const { name, schema, description, strict } = format
  return { type: 'json_schema', json_schema: { name, schema, ...defined({ description, strict }) } }
}
