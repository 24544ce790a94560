import { defined } from '../../core/defined.ts'
import { DEFAULT_ORGANIZATION, type OrganizationId } from '../../core/id.ts'
import {
  limitsFor,
  ORGANIZATION_LIMITS,
  type OrganizationLimit,
  type OrganizationLimits,
  type OrganizationPolicy,
} from '../../core/organization-limits.ts'
import { isOperator, type KeyId } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import { parseTarget } from '../../core/target.ts'
import { keyOf } from '../messages/turn-quota.ts'
import { isProviderName } from '../providers/providers.ts'
import type { ServiceContext } from '../service-context.ts'
import { newAuditEntry } from './audit.ts'
import { organizationFor } from './organization-for.ts'

/** Requests of an organization and of one of its keys that are open in this server. */
export type OpenTraffic = OpenRequests & { key: OpenRequests | undefined }
type OpenRequests = { open: number; streams: number; bytes: number }

/** One limit. `limit` is absent if there is none, `used` if it is not counted. */
type LimitState = {
  /** The setting, without `limits.`. */
  name: string
  of: 'organization' | 'key'
  unit: string
  limit?: number
  used?: number
}

type LimitsReport = {
  organizationId: OrganizationId
  keyId?: KeyId
  limits: LimitState[]
  /** Models it may use. Absent: all. */
  models?: string[]
  /** Providers whose keys of the server it may use. Absent: all. */
  providerKeys?: string[]
  /** Providers for which it has keys of its own. */
  ownKeys: string[]
  /** Models without a known price that were used today, in tokens. */
  unpriced: { model: string; tokens: number }[]
}

/** The limits of an organization, without counting what it uses. */
export async function effectiveLimits(
  id: OrganizationId,
  { deps, limits }: ServiceContext,
): Promise<OrganizationLimits> {
  return (await deps.shares?.limitsOf(id)) ?? limitsFor(id, { limits: {} }, limits)
}

/** Every limit of the caller's organization and key with what is used of it. Operators may name another organization. */
export async function showLimits(
  { organizationId: named, trafficOf }: { organizationId?: string; trafficOf: TrafficOf },
  context: ServiceContext,
): Promise<LimitsReport> {
  const { deps, engine, caller, limits } = context
  const organizationId = await organizationFor(named, context)
  const keyId = organizationId === context.organizationId ? keyOf(caller) : undefined
  const of = { organizationId, ...defined({ keyId }) }
  const policy: OrganizationPolicy = (await deps.shares?.policyOf(organizationId)) ?? { limits: {} }
  const own = limitsFor(organizationId, policy, limits)
  const traffic = trafficOf(of)
  const queued = await deps.store.shares.countQueued(of)
  const day = new Date(deps.clock.now()).toISOString().slice(0, 10)
  const spent = await deps.store.shares.spentOn(organizationId, day)
  const spentBy = (account: string) => spent.find((one) => one.account === account) ?? { microDollars: 0, tokens: 0 }
  const { workspaces, awake } = await context.workspaces.countOf(organizationId)
  const used: Partial<Record<OrganizationLimit, number>> = {
    workspacesPerOrganization: workspaces,
    awakeWorkspacesPerOrganization: awake,
    turnsPerOrganization: engine?.dispatcher.runningOf(organizationId) ?? 0,
    queuedTurnsPerOrganization: queued.organization,
    schedulesPerOrganization: await deps.store.schedules.count(organizationId),
    storedBytesPerOrganization: await deps.store.shares.storedBytes(organizationId),
    openRequestsPerOrganization: traffic.open,
    streamsPerOrganization: traffic.streams,
    dollarsPerDayPerOrganization: spentBy('').microDollars / 1_000_000,
    tokensPerDayPerOrganization: spentBy('').tokens,
  }
  const states: LimitState[] = ORGANIZATION_LIMITS.map((name) => ({
    name: settingOf(name),
    of: 'organization',
    unit: UNITS[name],
    ...defined({ limit: own[name] || undefined, used: used[name] }),
  }))
  states.push({
    name: 'bytes_in_flight',
    of: 'organization',
    unit: 'bytes',
    limit: Math.ceil(limits.bytesInFlight / 2),
    used: traffic.bytes,
  })
  if (keyId)
    states.push(...keyStates({ keyId, queued: queued.key, traffic, spent: spentBy(keyId).microDollars }, context))
  return {
    organizationId,
    limits: states,
    unpriced: spent.flatMap(({ account, tokens }) =>
      account.startsWith('model:') ? [{ model: account.slice('model:'.length), tokens }] : [],
    ),
    ownKeys: await providersWithOwnKeys(organizationId, context),
    ...defined({ keyId, models: policy.models, providerKeys: policy.providerKeys }),
  }
}

/** The keys of the organization that the home began with are those of the server. */
async function providersWithOwnKeys(id: OrganizationId, { deps }: ServiceContext): Promise<string[]> {
  if (id === DEFAULT_ORGANIZATION) return []
  const own = await deps.store.credentials.list(id)
  return [...new Set(own.map(({ provider }) => provider))]
}

type TrafficOf = (of: { organizationId: OrganizationId; keyId?: KeyId }) => OpenTraffic

type KeyUse = { keyId: KeyId; queued: number; traffic: OpenTraffic; spent: number }

function keyStates(
  { keyId, queued, traffic, spent }: KeyUse,
  { limits, engine, turnOwners }: ServiceContext,
): LimitState[] {
  const running = engine?.dispatcher.running().filter((id) => turnOwners.byRun.get(id)?.actor === keyId).length ?? 0
  const state = (name: string, unit: string, { limit, used }: { limit: number; used?: number }): LimitState => ({
    name,
    of: 'key',
    unit,
    ...defined({ limit: limit || undefined, used }),
  })
  const { key = { open: 0, streams: 0, bytes: 0 } } = traffic
  return [
    state('turns_per_key', 'turns', { limit: limits.turnsPerKey, used: running }),
    state('queued_turns_per_key', 'turns', { limit: limits.queuedTurnsPerKey, used: queued }),
    state('requests_per_second', 'requests per second', { limit: limits.requestsPerSecond }),
    state('open_requests_per_key', 'requests', { limit: limits.openRequestsPerKey, used: key.open }),
    state('streams_per_key', 'streams', { limit: limits.streamsPerKey, used: key.streams }),
    state('bytes_in_flight_per_key', 'bytes', { limit: limits.bytesInFlightPerKey, used: key.bytes }),
    state('dollars_per_day_per_key', 'US dollars', { limit: limits.dollarsPerDayPerKey, used: spent / 1_000_000 }),
  ]
}

const UNITS: Record<OrganizationLimit, string> = {
  turnsPerOrganization: 'turns',
  queuedTurnsPerOrganization: 'turns',
  requestsPerSecondPerOrganization: 'requests per second',
  openRequestsPerOrganization: 'requests',
  streamsPerOrganization: 'streams',
  workspacesPerOrganization: 'workspaces',
  awakeWorkspacesPerOrganization: 'workspaces',
  processesPerOrganization: 'processes',
  schedulesPerOrganization: 'schedules',
  storedBytesPerOrganization: 'bytes',
  dollarsPerDayPerOrganization: 'US dollars',
  tokensPerDayPerOrganization: 'tokens',
}

const settingOf = (name: OrganizationLimit): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Undefined stays as it is, null returns to the default of the server. */
type PolicyChange = {
  organizationId: string
  limits: Record<string, number | null | undefined>
  models?: string[] | null | undefined
  providerKeys?: string[] | null | undefined
}

/** Sets limits of one organization. Other processes follow within a second. */
export async function changeLimits(
  { organizationId: named, ...change }: PolicyChange,
  context: ServiceContext,
): Promise<OrganizationId> {
  if (!isOperator(context.caller))
    throw new Problem('invalid', 'Only operators can change the limits of an organization.')
  const id = await organizationFor(named === 'default' ? DEFAULT_ORGANIZATION : named, context)
  const { shares, people } = context.deps.store
  const before: OrganizationPolicy = (await shares.policyOf(id)) ?? { limits: {} }
  for (const model of change.models ?? [])
    if (!parseTarget(model))
      throw new Problem(
        'invalid',
        `"${model.slice(0, 80)}" is not a model. Write provider/model, or provider/* for all.`,
      )
  for (const provider of change.providerKeys ?? [])
    if (!isProviderName(provider, context))
      throw new Problem('invalid', `"${provider.slice(0, 80)}" is not a provider; \`holdfast providers\` lists them.`)
  const limits: Partial<OrganizationLimits> = { ...before.limits }
  for (const name of ORGANIZATION_LIMITS) {
    const value = change.limits[settingOf(name)]
    if (value === null) delete limits[name]
    else if (value !== undefined) limits[name] = value
  }
  const policy: OrganizationPolicy = {
    limits,
    ...defined({
      models: change.models === undefined ? before.models : (change.models ?? undefined),
      providerKeys: change.providerKeys === undefined ? before.providerKeys : (change.providerKeys ?? undefined),
    }),
  }
  await people.savePolicy(id, policy, newAuditEntry({ verb: 'limits.change', object: id, organizationId: id }, context))
  context.deps.shares?.forget(id)
  return id
}

/** The names that `PATCH /v1/organizations/{id}/limits` takes. */
export const LIMIT_NAMES = ORGANIZATION_LIMITS.map(settingOf)
