import { defined } from '../../core/defined.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { readHandle } from './model-facts.ts'

/** What the Messages API has no parameter for, in the types of the vendor's own client. */
export const notTaken = ({ settings = {} }: ModelRequest): string[] => [
  ...(settings.verbosity ? ['verbosity: the Messages API has no such parameter'] : []),
  ...(settings.frequencyPenalty ? ['frequency_penalty: the Messages API has no such parameter'] : []),
]

/** From these models on the vendor rejects every other value than the default; its migration guides say so. */
const FIXED_SAMPLING = /claude-(opus-4-[78]|[a-z]+-5)/
const MAX_TEMPERATURE = 1

type Sampling = { temperature?: number; top_p?: number }

/** The sampling settings that the model takes, and why it does not take the others. */
export function samplingOf(
  { model, settings = {} }: ModelRequest,
  { isThinking }: { isThinking: boolean },
): { sampling: Sampling; leftOut: string[] } {
  const { temperature, topP } = settings
  const whyNot = FIXED_SAMPLING.test(readHandle(model).name)
    ? `${model} takes only 1`
    : isThinking
      ? 'the vendor rejects it together with thinking'
      : undefined
  const noTemperature =
    temperature === undefined || temperature === 1
      ? undefined
      : (whyNot ?? (temperature > MAX_TEMPERATURE ? `${model} takes 0 to ${MAX_TEMPERATURE}` : undefined))
  const sentTemperature = noTemperature ? undefined : temperature
  const noTopP =
    topP === undefined || topP === 1
      ? undefined
      : (whyNot ?? (sentTemperature === undefined ? undefined : 'the vendor rejects it together with a temperature'))
  return {
    sampling: defined({ temperature: sentTemperature, top_p: noTopP || topP === 1 ? undefined : topP }),
    leftOut: [...(noTemperature ? [`temperature: ${noTemperature}`] : []), ...(noTopP ? [`top_p: ${noTopP}`] : [])],
  }
}
