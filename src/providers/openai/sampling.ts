import { defined } from '../../core/defined.ts'
import type { ModelRequest } from '../../ports/model.ts'

/** Reasoning models reject every other value than the default. */
const FIXED_SAMPLING = /^(o\d|gpt-5(?!-chat))/
const DEFAULT_VALUE = 1

type Sampling = { temperature?: number; top_p?: number; parallel_tool_calls?: boolean }

/** The settings that Chat Completions and Responses have in common, and those that the model does not take. */
export function samplingOf({ model, settings = {}, tools }: ModelRequest): { sampling: Sampling; leftOut: string[] } {
  const { temperature, topP, parallelToolCalls } = settings
  const isFixed = FIXED_SAMPLING.test(model.slice(model.lastIndexOf('/') + 1))
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

/** Models without reasoning reject a request for it. */
const WITHOUT_REASONING = /^(gpt-3|gpt-4|chatgpt-4)/
export const hasReasoning = (model: string): boolean => !WITHOUT_REASONING.test(model.slice(model.lastIndexOf('/') + 1))

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
