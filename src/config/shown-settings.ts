import { Problem } from '../core/problem.ts'
import type { Environment } from '../ports/environment.ts'
import type { ConfigurationCheck, ShownSetting } from '../ports/shown-setting.ts'
import { type Configuration, readConfiguration } from './configuration.ts'

/** Names whose values may authenticate. */
const SECRET = /key|token|secret|password|authorization|header/i

/** The settings in force, for people. Secrets are left out, and addresses lose their credentials. */
export function shownSettings({ settings, corsOrigins, hosts, providers, ...sections }: Configuration): ShownSetting[] {
  const all = { process: settings, ...sections, server: { corsOrigins, hosts }, providers }
  return flatten(all, '').toSorted((a, b) => a.name.localeCompare(b.name))
}

/** Reads config.yaml and the environment again. What is wrong with them, and which settings a restart would change. */
export const configurationCheck =
  (environment: Environment, inForce: Configuration) => async (): Promise<ConfigurationCheck> => {
    try {
      const next = new Map(shownSettings(await readConfiguration(environment)).map(({ name, value }) => [name, value]))
      const present = new Map(shownSettings(inForce).map(({ name, value }) => [name, value]))
      const names = [...new Set([...present.keys(), ...next.keys()])]
      return { faults: [], changed: names.filter((name) => present.get(name) !== next.get(name)).toSorted() }
    } catch (fault) {
      if (!(fault instanceof Problem)) throw fault
      return { faults: fault.message.split('\n').map((line) => line.trim()), changed: [] }
    }
  }

function flatten(value: unknown, name: string): ShownSetting[] {
  if (value === undefined) return []
  if (typeof value !== 'number' && SECRET.test(name.split('.').at(-1)!)) return [{ name, value: '(not shown)' }]
  if (Array.isArray(value)) return [{ name, value: value.length === 0 ? 'none' : value.map(shown).join(', ') }]
  if (value === null || typeof value !== 'object') return [{ name, value: shown(value) }]
  return Object.entries(value).flatMap(([key, one]) => flatten(one, name === '' ? key : `${name}.${key}`))
}

function shown(value: unknown): string {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  if (!URL.canParse(text) || !text.includes('@')) return text
  const url = new URL(text)
  url.username = ''
  url.password = ''
  return url.href
}
