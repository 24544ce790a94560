import { LIMITS, type Limits } from '../core/limits.ts'
import { Problem } from '../core/problem.ts'
import type { Environment } from '../ports/environment.ts'

/** `bodyBytes` is `body_bytes` in config.yaml. */
export const limitKey = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** `bodyBytes` is `HOLDFAST_LIMIT_BODY_BYTES` in the environment. */
export const limitVariable = (name: string): string => `HOLDFAST_LIMIT_${limitKey(name).toUpperCase()}`

/** Each limit from the environment, else from config.yaml, else as usual. All mistakes are told at once. */
export function readLimits(environment: Environment, configured: Readonly<Record<string, number>>): Limits {
  const faults: string[] = []
  const entries = Object.entries(LIMITS).map(([name, { usual, from, to }]) => {
    const text = environment[limitVariable(name)]?.trim()
    if (!text) return [name, configured[limitKey(name)] ?? usual]
    const value = Number(text)
    if (Number.isInteger(value) && value >= from && value <= to) return [name, value]
    faults.push(`${limitVariable(name)} is "${text}"; it must be a whole number from ${from} to ${to}.`)
    return [name, usual]
  })
  if (faults.length > 0)
    throw new Problem('invalid', `The environment has settings that cannot be used. ${faults.join(' ')}`, { faults })
  return Object.fromEntries(entries)
}
