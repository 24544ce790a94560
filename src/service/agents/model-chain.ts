import type { Agent } from '../../core/agent.ts'
import { Problem } from '../../core/problem.ts'
import { isTargetHandle, parseTarget, type TargetHandle } from '../../core/target.ts'
import { currentHandle } from '../providers/retired-handles.ts'
import type { ServiceContext } from '../service-context.ts'

export const MAX_FALLBACK = 100

/** Refuses handles that no configured provider serves; the message names the position in `fallback`. */
export function requireFallback(handles: readonly string[], context: ServiceContext): TargetHandle[] {
  if (handles.length > MAX_FALLBACK)
    throw new Problem(
      'invalid-argument',
      `fallback: has ${handles.length} models; at most ${MAX_FALLBACK} are allowed. Remove some.`,
    )
  return handles.map((handle, index) => {
    const field = `fallback.${index}`
    if (!isTargetHandle(handle))
      throw new Problem('invalid-argument', `${field}: "${shown(handle)}" is not a model handle. Write provider/model.`)
    const current = currentEntry(handle, field, context)
    const { provider } = parseTarget(current)!
    if (context.deps.models.find(provider)) return current
    throw new Problem(
      'invalid-argument',
      `${field}: provider ${shown(provider)} of "${shown(handle)}" is not configured. \`holdfast providers\` lists the providers; add it as \`providers.${shown(provider)}\` in config.yaml.`,
    )
  })
}

function currentEntry(handle: TargetHandle, field: string, context: ServiceContext): TargetHandle {
  try {
    return currentHandle(handle, context)
  } catch (fault) {
    throw fault instanceof Problem ? new Problem('invalid-argument', `${field}: ${fault.message}`) : fault
  }
}

/** Each target of a chain is tried once in a turn, so a repeated one is a mistake. */
export function refuseRepeatedTargets({ model, fallback }: Pick<Agent, 'model' | 'fallback'>): void {
  fallback.forEach((handle, index) => {
    const earlier = handle === model ? 'is already the model of the agent' : 'is in the chain twice'
    if (handle === model || fallback.indexOf(handle) < index)
      throw new Problem(
        'invalid-argument',
        `fallback.${index}: "${shown(handle)}" ${earlier}. Remove it from fallback.`,
      )
  })
}

const shown = (text: string): string => text.slice(0, 200)
