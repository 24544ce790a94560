import type { OrganizationId, RunId } from '../id.ts'

/**
 * What a button carries: it is bound to one call of one run with exactly these arguments, and works once. `decided`: the
 * press is committed; `carriedOut`: the run continues with it.
 */
export type ApprovalToken = {
  token: string
  organizationId: OrganizationId
  account: string
  runId: RunId
  callId: string
  digest: string
  chatId: string
  tool: string
  /** Of the message with its buttons. */
  messageKey: string
  createdAt: number
  decision?: 'approve' | 'deny'
  decidedBy?: string
  decidedAt?: number
}

export const DECISION_WORDS = { approve: 'approved', deny: 'denied' } as const

const TOKEN_ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'

/** 95 bits: short enough for 64 bytes with its decision, too many to guess. */
export const newToken = (fraction: () => number): string =>
  Array.from({ length: 16 }, () => TOKEN_ALPHABET[Math.floor(fraction() * TOKEN_ALPHABET.length)]).join('')

export const pressData = (token: string, decision: 'approve' | 'deny'): string =>
  `${decision === 'approve' ? 'a' : 'd'}:${token}`

export function parsePress(data: string): { token: string; decision: 'approve' | 'deny' } | undefined {
  const [, letter, token] = /^([ad]):([a-zA-Z0-9]{16})$/.exec(data) ?? []
  if (!letter || !token) return undefined
  return { token, decision: letter === 'a' ? 'approve' : 'deny' }
}
