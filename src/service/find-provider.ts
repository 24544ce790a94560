import type { Failure } from '../core/failure.ts'
import { Problem } from '../core/problem.ts'
import type { ProviderEntry } from '../ports/provider-directory.ts'
import type { Desk } from './desk.ts'

/** Always there: it answers without a key, a network or a bill. */
export const SCRIPTED = 'scripted'

type DirectoryDesk = Pick<Desk, 'directory'>

/** The provider of that name, or `scripted`; a name that is neither is answered with those there are. */
export function findProvider(name: string, desk: DirectoryDesk): ProviderEntry | typeof SCRIPTED {
  if (name === SCRIPTED) return SCRIPTED
  const entry = desk.directory?.list().find((one) => one.name === name)
  if (entry) return entry
  const lacking = desk.directory?.unaddressed().find((one) => one.name === name)
  if (lacking)
    throw new Problem(
      'invalid',
      `${lacking.label} has no address yet. Set ${lacking.baseUrlVariable}, or \`providers.${name}.base_url\` in config.yaml.`,
    )
  throw unknownProvider(name, desk)
}

/** A name a credential may be kept for: also a vendor's that only has a login, or no address yet. */
export function requireProviderName(name: string, desk: DirectoryDesk): string {
  if (credentialNames(desk).includes(name)) return name
  throw unknownProvider(name, desk)
}

function credentialNames({ directory }: DirectoryDesk): string[] {
  if (!directory) return []
  const named = [...directory.list(), ...directory.unaddressed()].map(({ name }) => name)
  return [...new Set([...named, ...directory.loginNames()])].sort()
}

function unknownProvider(name: string, desk: DirectoryDesk): Problem {
  const known = [...credentialNames(desk), SCRIPTED]
  return new Problem(
    'not-found',
    `There is no provider "${name}". Known: ${known.join(', ')}. A server of your own gets a name under \`providers\` in config.yaml.`,
  )
}

/** What it takes to ask a provider that wants a key and has none. */
export const keyAdvice = ({ name, keyVariables }: Pick<ProviderEntry, 'name' | 'keyVariables'>): string =>
  `Set ${keyVariables.join(' or ')}, or run \`holdfast auth add ${name}\`.`

export const NO_KEY: Failure = { kind: 'auth-rejected', detail: 'it has no key; nobody was asked' }
