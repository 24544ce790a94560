import type { Cooldown, CredentialId } from './credential.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from './duration.ts'
import type { Failure, FailureKind } from './failure.ts'
import type { RunId } from './id.ts'

export type FailedUse = {
  failure: Failure
  /** The credential the request was made with. */
  grantId: CredentialId
  provider: string
  /** Number of other usable credentials in the pool. */
  siblings: number
  at: number
  runId: RunId
}

/** Undefined: no cooldown; the next turn uses this credential first again. */
export function cooldownFor(use: FailedUse): Cooldown | undefined {
  const { failure, grantId: key, provider, siblings, at, runId } = use
  const rule = COOLDOWN_RULES[failure.kind]
  if (!rule) return undefined
  const ms = statedMs(failure) ?? (siblings > 0 ? rule.defaultMs : undefined)
  if (ms === undefined) return undefined
  const { kind: reason, detail } = failure
  return { scope: 'credential', key, provider, reason, detail, until: at + ms, runId, createdAt: at }
}

/** `defaultMs`: the cooldown if the provider stated no end and the pool has other usable credentials. */
type CooldownRule = { defaultMs?: number }

/** Quotas reset at the latest after a month; a longer time is a mistake of the provider. */
const MAX_COOLDOWN_MS = 31 * DAY_MS

/** Kinds not listed cause no cooldown: they are not the credential's fault. */
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
