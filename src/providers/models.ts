import type { ModelProvider, Models } from '../ports/model.ts'

/** The providers this process can reach, by the name that comes before the slash of a model handle. */
export function modelsFrom(providers: Readonly<Record<string, ModelProvider>>): Models {
  const byName = new Map(Object.entries(providers))
  return { find: (name) => byName.get(name) }
}
