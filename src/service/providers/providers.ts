import { type Agent, chainOf } from '../../core/agent.ts'
import type { Cooldown, CredentialId } from '../../core/credential.ts'
import { defined } from '../../core/defined.ts'
import { type Failure, MISSING_KEY } from '../../core/failure.ts'
import { DEFAULT_ORGANIZATION } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { parseTarget, SCRIPTED } from '../../core/target.ts'
import type { ProviderEntry } from '../../ports/provider-directory.ts'
import { listAgents } from '../agents/agents.ts'
import { listCooldowns } from '../credentials/cooldowns.ts'
import { type CredentialList, listCredentials } from '../credentials/credentials.ts'
import type { ServiceContext } from '../service-context.ts'

/**
 * `ready`: requests can be sent; it does not mean that the provider answers. `not-configured`: a key or an address is
 * missing, and no agent uses the provider.
 */
export type ProviderState = 'ready' | 'cooling-down' | 'dead' | 'no-key' | 'not-configured'

export type CredentialState =
  | { type: 'ok' }
  | { type: 'cooling-down'; until: number; reason: string; detail: string }
  | { type: 'dead'; reason: string; detail: string }

/** A credential of a pool, stored or from the environment, without its secret. */
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
  /** Names of the agents whose chain contains it. */
  usedBy: string[]
}

/** Every provider with an address, and whether it can be used now. */
export async function listProviders(context: ServiceContext): Promise<ListedProvider[]> {
  // Credentials belong to the server, not to the organization of the caller.
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
    const active = cooldowns.filter(({ provider }) => provider === entry.name)
    return { ...listed, cooldowns: active, state: providerState({ ...listed, cooldowns: active }) }
  })
}

/** All credentials of all providers in the order of their use, each with its state. */
export function poolMembers(
  { stored, environment }: CredentialList,
  cooldowns: readonly Cooldown[],
): (PoolMember & { provider: string })[] {
  const cooldownById = new Map(
    cooldowns.flatMap((one) => (one.scope === 'credential' ? [[one.key, one] as const] : [])),
  )
  const cooldownState = (id: string): CredentialState => {
    const found = cooldownById.get(id)
    return found
      ? { type: 'cooling-down', until: found.until, reason: found.reason, detail: found.detail }
      : { type: 'ok' }
  }
  return [
    ...stored.map((row): PoolMember & { provider: string } => ({
      id: row.id,
      provider: row.provider,
      label: row.label,
      source: 'stored',
      kind: row.kind,
      state: row.state.type === 'dead' ? row.state : row.hint === undefined ? UNREADABLE_SECRET : cooldownState(row.id),
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
      state: cooldownState(id),
    })),
  ]
}

const UNREADABLE_SECRET: CredentialState = {
  type: 'dead',
  reason: 'sealed',
  detail: 'its secret cannot be decrypted with the key file of this home',
}

function providerState(provider: Omit<ListedProvider, 'state'>): ProviderState {
  const { credentials, cooldowns, needsKey, addressFrom, usedBy } = provider
  if (credentials.length === 0) {
    if (needsKey) return usedBy.length > 0 ? 'no-key' : 'not-configured'
    return addressFrom === 'vendor' && usedBy.length === 0 ? 'not-configured' : 'ready'
  }
  if (cooldowns.some(({ scope }) => scope === 'endpoint')) return 'cooling-down'
  if (credentials.some(({ state }) => state.type === 'ok')) return 'ready'
  return credentials.some(({ state }) => state.type === 'cooling-down') ? 'cooling-down' : 'dead'
}

const isUsedBy = (provider: string, agent: Agent, { defaults }: ServiceContext): boolean =>
  chainOf(agent, defaults.fallback).some((handle) => parseTarget(handle)?.provider === provider)

type DirectoryContext = Pick<ServiceContext, 'directory'>

/** The provider of that name, or `scripted`. The error for an unknown name lists the known ones. */
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

/** A name that credentials can be stored for; includes vendors that only have a login, or no address yet. */
export function requireProviderName(name: string, context: DirectoryContext): string {
  if (isProviderName(name, context)) return name
  throw unknownProvider(name, context)
}

export const isProviderName = (name: string, context: DirectoryContext): boolean =>
  credentialNames(context).includes(name)

function credentialNames({ directory }: DirectoryContext): string[] {
  const named = [...directory.list(), ...directory.unaddressed()].map(({ name }) => name)
  return [...new Set([...named, ...directory.loginNames()])].sort()
}

function unknownProvider(name: string, context: DirectoryContext): Problem {
  const known = [...credentialNames(context), SCRIPTED]
  return new Problem(
    'not-found',
    `There is no provider "${name}". Known: ${known.join(', ')}. To use your own server, add it under \`providers\` in config.yaml.`,
  )
}

/** How to set the key of a provider; empty for one that needs none. */
export const keyAdvice = ({ name }: Pick<ProviderEntry, 'name'>, { deps }: ServiceContext): string =>
  deps.models.find(name)?.endpoint?.keyAdvice ?? ''

export const NO_KEY: Failure = {
  kind: 'auth-rejected',
  code: MISSING_KEY,
  detail: 'the API key is missing, so no request was sent',
}
