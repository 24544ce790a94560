import type { OrganizationId, WorkerId } from '../id.ts'
import type { PlatformName } from './platforms.ts'

/**
 * `connecting`: asks who it is. `up`: receives. `backing-off`: the platform does not answer; `nextTryAt` says when it is
 * asked again. `conflict`: another program receives for the same bot. `refused`: the platform refuses the token, so a
 * person has to act. `stopped`: the server that owned it was stopped, or the account left the configuration.
 */
export const ACCOUNT_STATES = ['connecting', 'up', 'backing-off', 'conflict', 'refused', 'stopped'] as const
export type AccountState = (typeof ACCOUNT_STATES)[number]

/** One bot on one platform. The process that owns it receives and sends for it; `fence` rejects a former owner. */
export type GatewayAccount = {
  organizationId: OrganizationId
  name: string
  platform: PlatformName
  state: AccountState
  /** Why it is in this state, in words. */
  detail?: string
  /** The bot at the platform: a cursor is valid for one bot only. */
  botId?: string
  botName?: string
  /** Up to where updates are committed (Telegram: the next offset). */
  cursor?: string
  owner?: WorkerId
  fence: number
  lastSuccessAt?: number
  nextTryAt?: number
  updatedAt: number
}

/** The right to receive and send for an account. */
export type AccountLease = { organizationId: OrganizationId; account: string; fence: number }
