import { defined } from '../../core/defined.ts'
import type { Effort, Verbosity } from '../../core/model-settings.ts'
import type { JsonSchemaFormat } from '../../core/response-format.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { permitsStrict } from './strict-schema.ts'

/**
 * Models that reject a parameter, or every value but its default, by the names of the vendor's own models. The vendor's
 * guides on reasoning models and on GPT-5 say so (June 2026); its refusals of `verbosity` name the one value.
 */
const WITH_FIXED_SAMPLING = /^(o\d|gpt-5(?!-chat))/
const WITHOUT_REASONING = /^(gpt-3|gpt-4|chatgpt-4)/
const WITH_ONE_VERBOSITY = /^(o\d|gpt-[34]|chatgpt-4|gpt-5-chat)/

/** A model behind an aggregator has its vendor in front of its name. */
const bareName = (model: string): string => model.slice(model.lastIndexOf('/') + 1)

const DEFAULT_VALUE = 1
const DEFAULT_VERBOSITY: Verbosity = 'medium'

type Sampling = { temperature?: number; top_p?: number; parallel_tool_calls?: boolean }

/** The settings that Chat Completions and Responses have in common, and those that the model does not take. */
export function samplingOf({ model, settings = {}, tools }: ModelRequest): { sampling: Sampling; leftOut: string[] } {
  const { temperature, topP, parallelToolCalls } = settings
  const isFixed = hasFixedSampling(model)
  const isTaken = (value: number | undefined) => !isFixed || value === undefined || value === DEFAULT_VALUE
  return {
    sampling: defined({
      temperature: isTaken(temperature) ? temperature : undefined,
      top_p: isTaken(topP) ? topP : undefined,
      // Parallel calls are the default, and the option is rejected without tools.
      parallel_tool_calls: parallelToolCalls === false && tools.length > 0 ? false : undefined,
    }),
    leftOut: [
      ...(isTaken(temperature) ? [] : [`temperature: ${model} takes only ${DEFAULT_VALUE}`]),
      ...(isTaken(topP) ? [] : [`top_p: ${model} takes only ${DEFAULT_VALUE}`]),
    ],
  }
}

export const hasFixedSampling = (model: string): boolean => WITH_FIXED_SAMPLING.test(bareName(model))
export const hasReasoning = (model: string): boolean => !WITHOUT_REASONING.test(bareName(model))

/** The effort to send, and what of the request for reasoning the API does not have. */
export function effortOf({
  model,
  effort,
  settings,
}: ModelRequest): Pick<ModelRequest, 'effort'> & { leftOut: string[] } {
  const isSent = effort !== undefined && hasReasoning(model)
  return {
    ...defined({ effort: isSent ? effort : undefined }),
    leftOut: [
      ...(effort && effort !== 'none' && !isSent ? [`reasoning effort: ${model} does not reason`] : []),
      ...(settings?.thinkingBudget === undefined ? [] : ['thinking budget: the API takes an effort, not a budget']),
    ],
  }
}

/** OpenRouter's parameter for every model behind it: an effort or a budget. */
export type UnifiedReasoning = { effort: Exclude<Effort, 'max'> } | { max_tokens: number }

export function unifiedReasoningOf({ model, effort, settings }: ModelRequest): {
  reasoning?: UnifiedReasoning
  leftOut: string[]
} {
  const budget = settings?.thinkingBudget
  const isOff = effort === 'none' || budget === 0
  if (!hasReasoning(model))
    return { leftOut: (effort || budget) && !isOff ? [`reasoning: ${model} does not reason`] : [] }
  if (isOff) return { reasoning: { effort: 'none' }, leftOut: [] }
  if (budget !== undefined)
    return {
      reasoning: { max_tokens: budget },
      leftOut: effort ? ['reasoning effort: the API takes an effort or a budget, and the budget was sent'] : [],
    }
  if (effort === undefined) return { leftOut: [] }
  return effort === 'max'
    ? { reasoning: { effort: 'xhigh' }, leftOut: ['reasoning effort: the API takes up to xhigh'] }
    : { reasoning: { effort }, leftOut: [] }
}

export function verbosityOf({ model, settings }: ModelRequest): { verbosity?: Verbosity; leftOut: string[] } {
  const asked = settings?.verbosity
  if (asked === undefined) return { leftOut: [] }
  if (!WITH_ONE_VERBOSITY.test(bareName(model))) return { verbosity: asked, leftOut: [] }
  return { leftOut: asked === DEFAULT_VERBOSITY ? [] : [`verbosity: ${model} takes only ${DEFAULT_VERBOSITY}`] }
}

/** The members of a JSON schema format that both APIs have. A schema that permits it is enforced to the letter. */
export const schemaFormat = ({ name, schema, description, strict }: JsonSchemaFormat) => ({
  name,
  schema: schema as Record<string, unknown>,
  strict: strict ?? permitsStrict(schema),
  ...defined({ description }),
})

/** JSON mode is rejected unless a message asks for JSON. */
export const asksForJson = (text: string): boolean => /json/i.test(text)
