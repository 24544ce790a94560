import { DEFAULT_ORGANIZATION, type OrganizationId } from './id.ts'
import type { Limits } from './limits.ts'

/** Limits that an operator can set for one organization; the defaults are those of the server. */
export const ORGANIZATION_LIMITS = [
  'turnsPerOrganization',
  'queuedTurnsPerOrganization',
  'requestsPerSecondPerOrganization',
  'openRequestsPerOrganization',
  'streamsPerOrganization',
  'workspacesPerOrganization',
  'awakeWorkspacesPerOrganization',
  'processesPerOrganization',
  'schedulesPerOrganization',
  'storedBytesPerOrganization',
  'dollarsPerDayPerOrganization',
  'tokensPerDayPerOrganization',
] as const satisfies readonly (keyof Limits)[]

export type OrganizationLimit = (typeof ORGANIZATION_LIMITS)[number]

/** 0: no limit. */
export type OrganizationLimits = Record<OrganizationLimit, number>

/** What an operator has set for one organization. An absent value is the default of the server. */
export type OrganizationPolicy = {
  limits: Partial<OrganizationLimits>
  /** Models its agents may use: handles, or `provider/*`. Absent: all. */
  models?: string[]
  /** Providers whose keys of the server its agents may use. Absent: all. Keys of its own it may always use. */
  providerKeys?: string[]
}

/** The organization that a home begins with belongs to the operator: it has no limit unless one is set for it. */
export function limitsFor(
  organizationId: OrganizationId,
  { limits: own }: Pick<OrganizationPolicy, 'limits'>,
  defaults: Limits,
): OrganizationLimits {
  const isOperators = organizationId === DEFAULT_ORGANIZATION
  const pairs = ORGANIZATION_LIMITS.map((name) => [name, own[name] ?? (isOperators ? 0 : defaults[name])])
  return Object.fromEntries(pairs)
}

/** Whether a policy lets an organization use this model. */
export const allowsModel = ({ models }: OrganizationPolicy, handle: string): boolean =>
  models === undefined ||
  models.some((one) => one === handle || (one.endsWith('/*') && handle.startsWith(one.slice(0, -1))))

/** Whether a policy lets an organization use the server's keys of this provider. */
export const allowsServerKeys = ({ providerKeys }: OrganizationPolicy, provider: string): boolean =>
  providerKeys === undefined || providerKeys.includes(provider)
