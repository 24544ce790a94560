import type { OrganizationId } from '../id.ts'

/** How long a code can be approved. */
export const PAIRING_TTL_MS = 3_600_000
/** Codes that may wait in one account, so that strangers cannot fill the list. */
export const MAX_PENDING_PAIRINGS = 3

/** `pending`: shown a code. `approved`: may talk in private chats. `refused`: was told once, and not again. */
export type PairingState = 'pending' | 'approved' | 'refused'

export type Pairing = {
  organizationId: OrganizationId
  account: string
  senderId: string
  name: string
  state: PairingState
  code?: string
  createdAt: number
  expiresAt?: number
  approvedBy?: string
}

/** Without characters that look alike. */
const ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'
const CODE_LENGTH = 8

export const newCode = (fraction: () => number): string =>
  Array.from({ length: CODE_LENGTH }, () => ALPHABET[Math.floor(fraction() * ALPHABET.length)]).join('')

export const isOpenPairing = ({ state, expiresAt = 0 }: Pairing, now: number): boolean =>
  state === 'pending' && expiresAt > now
