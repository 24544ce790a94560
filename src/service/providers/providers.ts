import { type Agent, chainOf } from '../../core/agent.ts'
import type { Cooldown, CredentialId } from '../../core/credential.ts'
import { defined } from '../../core/defined.ts'
import type { Failure } from '../../core/failure.ts'
import { DEFAULT_ORGANIZATION } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { parseTarget, SCRIPTED } from '../../core/target.ts'
import type { ProviderEntry } from '../../ports/provider-directory.ts'
import { listAgents } from '../agents/agents.ts'
import { listCooldowns } from '../credentials/cooldowns.ts'
import { type CredentialList, listCredentials } from '../credentials/credentials.ts'
import type { ServiceContext } from '../service-context.ts'

/**
 * `ready` says that it can be asked, not that it answers. `not-configured`: a key or an address is missing, and no agent
 * counts on it.
 */
export type ProviderState = 'ready' | 'resting' | 'dead' | 'no-key' | 'not-configured'

export type CredentialState =
  | { type: 'ok' }
  | { type: 'resting'; until: number; reason: string; detail: string }
  | { type: 'dead'; reason: string; detail: string }

/** A credential of a pool, stored or found in the environment; never its secret. */
export type PoolMember = {
  id: CredentialId
  label: string
  source: 'stored' | 'environment'
  kind: 'api-key' | 'oauth'
  hint?: string
  state: CredentialState
  expiresAt?: number
  useCount?: number
  lastUsedAt?: number
  refreshFailure?: string
}

export type ListedProvider = ProviderEntry & {
  state: ProviderState
  credentials: PoolMember[]
  /** Of its credentials and of its address. */
  cooldowns: Cooldown[]
  /** Names of the agents whose chain names it. */
  usedBy: string[]
}

/** Every provider that has an address, and whether it can be asked now. */
export async function listProviders(context: ServiceContext): Promise<ListedProvider[]> {
  // Credentials belong to the server, not to the organization that asks.
  const server = { ...context, organizationId: DEFAULT_ORGANIZATION }
  const [credentials, cooldowns, agents] = await Promise.all([
    listCredentials(server),
    listCooldowns(server),
    listAgents(context),
  ])
  const members = poolMembers(credentials, cooldowns)
  return context.directory.list().map((entry) => {
    const own = members.filter(({ provider }) => provider === entry.name).map(({ provider: _, ...member }) => member)
    const usedBy = agents.filter((agent) => isUsedBy(entry.name, agent, context)).map(({ name }) => name)
    const listed = { ...entry, credentials: own, usedBy }
    const resting = cooldowns.filter(({ provider }) => provider === entry.name)
    return { ...listed, cooldowns: resting, state: providerState({ ...listed, cooldowns: resting }) }
  })
}

/** All credentials of all providers in the order in which they are taken, with what keeps each from being used. */
export function poolMembers(
  { stored, environment }: CredentialList,
  cooldowns: readonly Cooldown[],
): (PoolMember & { provider: string })[] {
  const restOf = new Map(cooldowns.flatMap((rest) => (rest.scope === 'credential' ? [[rest.key, rest] as const] : [])))
  const resting = (id: string): CredentialState => {
    const rest = restOf.get(id)
    return rest ? { type: 'resting', until: rest.until, reason: rest.reason, detail: rest.detail } : { type: 'ok' }
  }
  return [
    ...stored.map((row): PoolMember & { provider: string } => ({
      id: row.id,
      provider: row.provider,
      label: row.label,
      source: 'stored',
      kind: row.kind,
      state: row.state.type === 'dead' ? row.state : row.hint === undefined ? UNREADABLE_SECRET : resting(row.id),
      useCount: row.useCount,
      ...defined({
        hint: row.hint,
        expiresAt: row.expiresAt,
        lastUsedAt: row.lastUsedAt,
        refreshFailure: row.refreshFailure,
      }),
    })),
    ...environment.map(({ id, provider, hint }): PoolMember & { provider: string } => ({
      id,
      provider,
      label: id.replace('credential-env-', ''),
      source: 'environment',
      kind: 'api-key',
      hint,
      state: resting(id),
    })),
  ]
}

const UNREADABLE_SECRET: CredentialState = {
  type: 'dead',
  reason: 'sealed',
  detail: 'its secret cannot be opened with the key file of this home',
}

function providerState(provider: Omit<ListedProvider, 'state'>): ProviderState {
  const { credentials, cooldowns, needsKey, addressFrom, usedBy } = provider
  if (credentials.length === 0) {
    if (needsKey) return usedBy.length > 0 ? 'no-key' : 'not-configured'
    return addressFrom === 'vendor' && usedBy.length === 0 ? 'not-configured' : 'ready'
  }
  if (cooldowns.some(({ scope }) => scope === 'endpoint')) return 'resting'
  if (credentials.some(({ state }) => state.type === 'ok')) return 'ready'
  return credentials.some(({ state }) => state.type === 'resting') ? 'resting' : 'dead'
}

const isUsedBy = (provider: string, agent: Agent, { defaults }: ServiceContext): boolean =>
  chainOf(agent, defaults.fallback).some((handle) => parseTarget(handle)?.provider === provider)

type DirectoryContext = Pick<ServiceContext, 'directory'>

/** The provider of that name, or `scripted`; a name that is neither is answered with those there are. */
export function requireProvider(name: string, context: DirectoryContext): ProviderEntry | typeof SCRIPTED {
  if (name === SCRIPTED) return SCRIPTED
  const entry = context.directory.list().find((one) => one.name === name)
  if (entry) return entry
  const lacking = context.directory.unaddressed().find((one) => one.name === name)
  if (lacking)
    throw new Problem(
      'invalid',
      `${lacking.label} has no address yet. Set ${lacking.baseUrlVariable}, or \`providers.${name}.base_url\` in config.yaml.`,
    )
  throw unknownProvider(name, context)
}

/** A name a credential may be kept for: also a vendor's that only has a login, or no address yet. */
export function requireProviderName(name: string, context: DirectoryContext): string {
  if (credentialNames(context).includes(name)) return name
  throw unknownProvider(name, context)
}

function credentialNames({ directory }: DirectoryContext): string[] {
  const named = [...directory.list(), ...directory.unaddressed()].map(({ name }) => name)
  return [...new Set([...named, ...directory.loginNames()])].sort()
}

function unknownProvider(name: string, context: DirectoryContext): Problem {
  const known = [...credentialNames(context), SCRIPTED]
  return new Problem(
    'not-found',
    `There is no provider "${name}". Known: ${known.join(', ')}. A server of your own gets a name under \`providers\` in config.yaml.`,
  )
}

/** What it takes to ask a provider that wants a key and has none. */
export const keyAdvice = ({ name, keyVariables }: Pick<ProviderEntry, 'name' | 'keyVariables'>): string =>
  `Set ${keyVariables.join(' or ')}, or run \`holdfast auth add ${name}\`.`

export const NO_KEY: Failure = { kind: 'auth-rejected', detail: 'it has no key; nobody was asked' }
