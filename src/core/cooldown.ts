import type { Cooldown, CredentialId } from './credential.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from './duration.ts'
import type { Failure, FailureKind } from './failure.ts'
import type { RunId } from './id.ts'

export type FailedUse = {
  failure: Failure
  /** The credential that made the request, whichever the pool would choose by now. */
  grantId: CredentialId
  provider: string
  /** Others of the pool that could serve now. */
  siblings: number
  at: number
  runId: RunId
}

/** Undefined: nothing outlives the turn, and the next one asks this credential first. */
export function cooldownFor(use: FailedUse): Cooldown | undefined {
  const { failure, grantId: key, provider, siblings, at, runId } = use
  const rule = COOLDOWN_RULES[failure.kind]
  if (!rule) return undefined
  const ms = statedMs(failure) ?? (siblings > 0 ? rule.defaultMs : undefined)
  if (ms === undefined) return undefined
  const { kind: reason, detail } = failure
  return { scope: 'credential', key, provider, reason, detail, until: at + ms, runId, createdAt: at }
}

/** `unstatedMs`: how long it rests where others can serve and the provider named no end. */
type CooldownRule = { defaultMs?: number }

/** No plan's quota comes back later than with the next month; a longer end is a mistake of the provider. */
const MAX_COOLDOWN_MS = 31 * DAY_MS

/** What is missing never rests: it says nothing about the credential. */
const COOLDOWN_RULES: Partial<Record<FailureKind, CooldownRule>> = {
  'auth-rejected': { defaultMs: 5 * MINUTE_MS },
  'rate-limited': { defaultMs: HOUR_MS },
  'quota-exhausted': { defaultMs: HOUR_MS },
  'policy-blocked': {},
}

function statedMs({ retryAfterMs }: Failure): number | undefined {
  if (retryAfterMs === undefined || !(retryAfterMs > 0)) return undefined
  return Math.min(Math.ceil(retryAfterMs), MAX_COOLDOWN_MS)
}
