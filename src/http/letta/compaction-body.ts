import { z } from 'zod'
import { THRESHOLD_RANGE } from '../../core/context-window.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { Problem } from '../../core/problem.ts'
import { parseTarget } from '../../core/target.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { record } from '../field.ts'
import { fateOf, withoutEffect } from '../field-fate.ts'
import { AUTO_MODEL, requireModelIn } from './model-handle.ts'

const MODES = ['sliding_window', 'all', 'self_compact_sliding_window', 'self_compact_all'] as const

/** How one summary is made. */
export const SUMMARY_FIELDS = {
  mode: z
    .enum(MODES)
    .nullish()
    .describe(
      '`all` summarizes everything, `sliding_window` the oldest part; `self_` modes use the model of the agent.',
    ),
  model: z
    .string()
    .refine((text) => parseTarget(text) !== undefined, 'must be provider/model')
    .nullish()
    .describe('Model that writes the summary, as provider/model. `letta/auto` means that of the agent.'),
  prompt: z.string().nullish().describe('Instructions for the model that writes the summary.'),
  clip_chars: z.int().min(1).nullish().describe('Maximum number of characters of the summary.'),
  sliding_window_percentage: z
    .number()
    .gt(0)
    .max(1)
    .nullish()
    .describe('Minimum share of the context that a sliding window summarizes, from 0 to 1.'),
  model_settings: withoutEffect(record.nullish(), 'a summary is written with the usual settings of its model.'),
  prompt_acknowledgement: withoutEffect(z.boolean().nullish(), 'a summary is requested with one message.'),
}

const COMPACTION_FIELDS = {
  ...SUMMARY_FIELDS,
  threshold: z
    .number()
    .min(THRESHOLD_RANGE.min)
    .max(THRESHOLD_RANGE.max)
    .nullish()
    .describe(
      `Share of the context window that a conversation may fill before it is compacted, from ${THRESHOLD_RANGE.min} to ${THRESHOLD_RANGE.max}.`,
    ),
}

export const compactionBody = record
  .and(z.looseObject(COMPACTION_FIELDS))
  .nullish()
  .describe('How conversations of the agent are summarized when they no longer fit.')

/** The settings with the present name of their model, which a configured provider must serve. */
export function withKnownSummarizer<T extends JsonObject | null | undefined>(settings: T, context: ServiceContext): T {
  const model = settings?.model
  if (typeof model !== 'string' || model === AUTO_MODEL) return settings
  return { ...settings, model: requireModelIn('body.compaction_settings.model', model, context) }
}

/** The names of imported settings that have no effect here; they are kept. */
export function ineffectiveCompaction(stored: JsonObject, context: ServiceContext): string[] {
  const names = Object.entries(stored).flatMap(([name, value]) => (hasEffect(name, value) ? [] : [name]))
  return names.includes('model') || isServed(stored, context) ? names : [...names, 'model']
}

function hasEffect(name: string, value: Json): boolean {
  if (value === null) return true
  const schema = Object.hasOwn(COMPACTION_FIELDS, name)
    ? COMPACTION_FIELDS[name as keyof typeof COMPACTION_FIELDS]
    : undefined
  if (!schema) return false
  const fate = fateOf(schema)
  return fate ? !fate.asks(value) : schema.safeParse(value).success
}

function isServed(settings: JsonObject, context: ServiceContext): boolean {
  try {
    withKnownSummarizer(settings, context)
    return true
  } catch (fault) {
    if (fault instanceof Problem) return false
    throw fault
  }
}
