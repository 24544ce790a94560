import type { Usage } from '../core/event.ts'
import type { OrganizationId } from '../core/id.ts'
import type { OrganizationLimits, OrganizationPolicy } from '../core/organization-limits.ts'
import type { KeyId } from '../core/people.ts'

/** What each organization may use. */
export type Shares = {
  /** As last read, which was at most a second ago. */
  policyOf(organizationId: OrganizationId): Promise<OrganizationPolicy>
  limitsOf(organizationId: OrganizationId): Promise<OrganizationLimits>
  /** Turns that it may run at once in this process, as last read. 0: no limit. */
  runningTurnsOf(organizationId: OrganizationId): number
  /** The next question reads the policy again. */
  forget(organizationId: OrganizationId): void
  /** Counts what is about to be stored, unless it would pass the limit. */
  takeRoom(organizationId: OrganizationId, bytes: number): Promise<StorageRoom>
  /** Reserves the highest price of a request before it is sent. */
  reserve(request: SpendRequest): Promise<SpendReservation>
}

type StorageRoom = { type: 'enough' } | { type: 'full'; limit: number; used: number }

type SpendRequest = {
  organizationId: OrganizationId
  /** The key whose request opened the run. */
  keyId?: KeyId
  handle: string
  /** An estimate. */
  promptTokens: number
  outputTokens: number
}

export type SpendReservation =
  /** `settle` replaces the reserved amount by what was used; without a usage the reserved amount stays. */
  { type: 'reserved'; settle(usage: Usage | undefined): Promise<void> } | { type: 'refused'; detail: string }

/** An amount of one day. Dollars are counted in millionths. */
export type Spending = { microDollars: number; tokens: number }

export type SpendAccount = '' | KeyId | `model:${string}`

/** A change of accounts, and the limits that must hold after it. */
export type SpendChange = {
  organizationId: OrganizationId
  /** YYYY-MM-DD, in UTC. */
  day: string
  changes: (Spending & { account: SpendAccount; limit?: Partial<Spending> })[]
}

export type ShareStore = {
  policyOf(organizationId: OrganizationId): Promise<OrganizationPolicy | undefined>
  /** Atomic: all changes, or none and the account whose limit would be passed. */
  spend(change: SpendChange): Promise<'spent' | SpendAccount>
  spentOn(organizationId: OrganizationId, day: string): Promise<(Spending & { account: SpendAccount })[]>
  /** Bytes of its messages, passages, blocks, agents and tools. */
  storedBytes(organizationId: OrganizationId): Promise<number>
  /** Queued runs, counted up to 10,000. */
  countQueued(of: { organizationId: OrganizationId; keyId?: KeyId }): Promise<{ organization: number; key: number }>
}
