import type { Environment } from '../ports/environment.ts'
import { type NamedSection, SECTIONS } from './sections.ts'
import type { SettingKind } from './setting-kinds.ts'

/** An environment variable that is set, and the setting it is for. */
export type Variable = { name: string; path: string[]; text: string; kind: SettingKind<unknown> }

/** `HOLDFAST_<KEY>`, unless the setting names its variable; undefined if a variable cannot hold the value. */
export function variableName({ section, variablePrefix }: NamedSection, key: string): string | undefined {
  const { kind, variable } = section[key]!
  return kind.fromText && (variable ?? `${variablePrefix}${key.toUpperCase()}`)
}

/** The variables that are set and not blank. `providers`: the names in config.yaml, in capitals in variables. */
export function variablesIn(environment: Environment, providers: readonly string[]): Variable[] {
  return [...fixedVariables(environment), ...providerVariables(environment, providers)]
}

function fixedVariables(environment: Environment): Variable[] {
  const { process, general, server, limits, workspaces, web, schedules, telemetry } = SECTIONS
  return [process, general, server, limits, workspaces, web, schedules, telemetry].flatMap((named: NamedSection) =>
    Object.entries(named.section).flatMap(([key, { kind }]) => {
      const name = variableName(named, key)
      const text = name && environment[name]?.trim()
      return name && text ? [{ name, path: [...named.path, key], text, kind }] : []
    }),
  )
}

/** Longest first: `…_STALL_TIMEOUT_MS` also ends in `_TIMEOUT_MS`. */
const PROVIDER_SUFFIXES = [SECTIONS.provider, SECTIONS.oauth]
  .flatMap((named: NamedSection) =>
    Object.entries(named.section).flatMap(([key, { kind }]) => {
      const [beginning, ending] = variableName(named, key)?.split('<NAME>') ?? []
      return beginning && ending ? [{ beginning, ending, kind, inProvider: [...named.path.slice(2), key] }] : []
    }),
  )
  .toSorted((one, other) => other.ending.length - one.ending.length)

function providerVariables(environment: Environment, providers: readonly string[]): Variable[] {
  return Object.entries(environment).flatMap(([name, value]) => {
    const text = value?.trim()
    const match = PROVIDER_SUFFIXES.find(
      ({ beginning, ending }) =>
        name.length > beginning.length + ending.length && name.startsWith(beginning) && name.endsWith(ending),
    )
    if (!text || !match) return []
    const spelled = name.slice(match.beginning.length, -match.ending.length)
    const provider = providers.find((one) => inCapitals(one) === spelled) ?? spelled.toLowerCase().replaceAll('_', '-')
    return [{ name, path: ['providers', provider, ...match.inProvider], text, kind: match.kind }]
  })
}

const inCapitals = (name: string): string => name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')
