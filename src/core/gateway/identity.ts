import type { OrganizationId } from '../id.ts'

/** A person with accounts on chat platforms. */
export type PersonId = string & { readonly __brand?: 'PersonId' }

/** Who a sender is: accounts with the same `personId` belong to one person. */
export type Identity = {
  organizationId: OrganizationId
  account: string
  senderId: string
  /** The private chat in which the person can be reached. */
  chatId: string
  personId: PersonId
  name: string
  linkedAt: number
  /** Shown to the person, who enters it on another account. It works once. */
  code?: string
  codeExpiresAt?: number
}

/** Long enough to open another app. */
export const LINK_CODE_TTL_MS = 600_000

export const isOpenLink = ({ code, codeExpiresAt = 0 }: Identity, now: number): boolean =>
  code !== undefined && codeExpiresAt > now
