import * as z from 'zod/mini'
import type { Variable } from './variables.ts'

export type Assignment = { path: string[]; value: unknown }

/** The values of the variables, and one sentence for each invalid value. */
export function checkVariables(variables: readonly Variable[]): { assignments: Assignment[]; faults: string[] } {
  const checked = variables.map(({ name, path, text, kind }) => {
    const { success, data, error } = kind.schema(z).safeParse(kind.fromText?.(text))
    if (success) return { assignments: [{ path, value: data }], faults: [] }
    return { assignments: [], faults: error.issues.map(({ message }) => `${name} ${message}`) }
  })
  return {
    assignments: checked.flatMap(({ assignments }) => assignments),
    faults: checked.flatMap(({ faults }) => faults),
  }
}
