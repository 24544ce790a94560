import type { CredentialId } from '../../../src/core/credential.ts'
import { defined } from '../../../src/core/defined.ts'
import type { Failure, FailureKind } from '../../../src/core/failure.ts'
import type { RequestAdjustments } from '../../../src/core/request-adjustments.ts'
import type { ModelRequest } from '../../../src/ports/model.ts'
import type { EnvironmentSource } from '../../../src/providers/credentials/environment-keys.ts'
import type { FaultInjector } from './faults.ts'
import type { Kernel } from './kernel.ts'
import { countTokens } from './model.ts'
import type { Setup } from './setup.ts'

/** Every simulated secret has this form, so that a leak is detected. */
export const SECRET = 'sk-simulated-'

/**
 * The vendors of a simulated day: the state of keys and tokens, and the requests they refuse. They are outside of every
 * process, and after the end of the faults they accept every valid request.
 */
export type Vendors = {
  environment: EnvironmentSource[]
  environmentIds(provider: string): CredentialId[]
  /** The failure for this request, if it is refused. */
  refusalOf(asked: VendorRequest): Failure | undefined
  /** A login and its single-use renewals; `undefined` if the refresh token was already used. */
  issue(): Tokens
  renew(refreshToken: string): Tokens | undefined
}

export type VendorRequest = {
  provider: string
  request: ModelRequest
  secret?: string
  /** The connection of the process to the provider. */
  connection: { isStale: boolean }
  isSummary: boolean
}

export type Tokens = { secret: string; refreshToken: string; lastsMs: number }

type Key = { limitedUntil: number; isStated: boolean; revokedUntil: number; brokeUntil: number; endsAt: number }
type Demand = { kind: FailureKind; until: number }

type VendorsDeps = { kernel: Kernel; injector: FaultInjector; setup: Setup; now(): number; endsAt: number }

export function newVendors({ kernel, injector, setup, now, endsAt }: VendorsDeps): Vendors {
  const keys = new Map<string, Key>()
  const demands = new Map<string, Demand>()
  const down = new Map<string, { kind: FailureKind; until: number; retryAfterMs?: number }>()
  const environment = new Map<string, string[]>()
  const renewals = new Map<string, Tokens>()
  // Renewed tokens last for the day; the first one may expire.
  const firstMs = kernel.between(20_000, 60_000)
  let issued = 0

  const newSecret = (words: string, ends = Number.POSITIVE_INFINITY) => {
    const secret = `${SECRET}${words}-${++issued}`
    keys.set(secret, { limitedUntil: 0, isStated: false, revokedUntil: 0, brokeUntil: 0, endsAt: ends })
    return secret
  }
  for (const [provider, count] of Object.entries(setup.keys))
    environment.set(
      provider,
      Array.from({ length: count }, () => newSecret(provider)),
    )
  const isOver = () => kernel.now() >= endsAt

  function keyRefusal(secret: string): Failure | undefined {
    const key = keys.get(secret)
    if (!key || key.endsAt <= now()) return failure('auth-rejected')
    if (isOver()) return undefined
    const lasts = kernel.between(...kernel.pick(LIMITS))
    const isStated = kernel.chance(0.5)
    const isReplaced = kernel.chance(0.5)
    if (injector.strikes('key-limited')) Object.assign(key, { limitedUntil: now() + lasts, isStated })
    if (injector.strikes('key-broke')) Object.assign(key, { brokeUntil: now() + lasts, isStated })
    if (injector.strikes('key-revoked')) {
      key.revokedUntil = Number.POSITIVE_INFINITY
      if (isReplaced) kernel.after(lasts / 4, () => replace(secret))
    }
    const stated = (until: number) => (key.isStated ? { retryAfterMs: Math.ceil(until - now()) } : {})
    if (key.revokedUntil > now()) return failure('auth-rejected')
    if (key.brokeUntil > now()) return failure('quota-exhausted', stated(key.brokeUntil))
    return key.limitedUntil > now() ? failure('rate-limited', stated(key.limitedUntil)) : undefined
  }

  /** The operator replaces the revoked key. */
  function replace(secret: string) {
    for (const [provider, secrets] of environment)
      environment.set(
        provider,
        secrets.map((one) => (one === secret ? newSecret(provider) : one)),
      )
  }

  function placeRefusal(provider: string, connection: { isStale: boolean }): Failure | undefined {
    const lasts = kernel.between(...kernel.pick(OUTAGES))
    const kind = kernel.pick(['unreachable', 'overloaded', 'overloaded', 'server-error'] as const)
    const retryAfterMs = kernel.between(8_000, 13_000)
    const promise = kernel.chance(0.5) ? { retryAfterMs } : {}
    const until = Math.min(now() + lasts, endsAt + AFTERMATH_MS)
    if (injector.strikes('provider-down', provider)) down.set(provider, { kind, until, ...promise })
    if (injector.strikes('connection-stale', provider)) connection.isStale = true
    const outage = down.get(provider)
    if (outage && outage.until > now()) return outageFailure(outage)
    return connection.isStale && !isOver() ? failure('timeout') : undefined
  }

  function shapeRefusal(request: ModelRequest): Failure | undefined {
    const lasts = kernel.between(500, 8_000)
    const kind = kernel.pick(Object.keys(DEMANDS) as FailureKind[])
    if (injector.strikes('provider-picky', request.model)) demands.set(request.model, { kind, until: now() + lasts })
    const demand = demands.get(request.model)
    if (isOver() || !demand || demand.until <= now()) return undefined
    return DEMANDS[demand.kind]!.isMet(request) ? undefined : failure(demand.kind, DEMANDS[demand.kind]!.says)
  }

  function roomRefusal({ request, isSummary }: VendorRequest): Failure | undefined {
    const isTold = kernel.chance(0.5)
    const window = setup.windows[request.model]
    if (!window || !injector.strikes('provider-narrow', request.model) || isSummary) return undefined
    const tokens = JSON.stringify(request.messages).length / 4
    return tokens > window / 2 ? failure('context-overflow', isTold ? { statedWindow: window } : {}) : undefined
  }

  function lengthRefusal({ request }: VendorRequest): Failure | undefined {
    const isTold = kernel.chance(0.5)
    const window = setup.windows[request.model]
    if (window === undefined || countTokens(request) <= window) return undefined
    return { kind: 'context-overflow', detail: TOO_LONG, ...defined({ statedWindow: isTold ? window : undefined }) }
  }

  function statusRefusal(): Failure | undefined {
    const kind = kernel.pick(STATUSES)
    const retryAfterMs = kernel.between(...kernel.pick(LIMITS))
    const isStated = kernel.chance(0.3)
    const statedWindow = kernel.between(500, 2_000)
    if (!injector.strikes('provider-status', kind)) return undefined
    return failure(
      kind,
      defined({
        retryAfterMs: isStated ? retryAfterMs : undefined,
        statedWindow: WIDE.has(kind) ? statedWindow : undefined,
      }),
    )
  }

  return {
    environment: [...environment.keys()].map((provider) => ({
      provider,
      variable: `${provider.toUpperCase()}_KEY`,
      read: () => environment.get(provider)!.join(','),
    })),
    environmentIds: (provider) =>
      (environment.get(provider) ?? []).map(
        (_, index): CredentialId => `credential-env-${provider.toUpperCase()}_KEY${index === 0 ? '' : `-${index + 1}`}`,
      ),
    // Draw for all of them, so that one kind of fault does not change the probability of another.
    refusalOf(asked) {
      const { provider, request, secret, connection } = asked
      const refusals = [
        placeRefusal(provider, connection),
        secret === undefined ? undefined : keyRefusal(secret),
        statusRefusal(),
        shapeRefusal(request),
        roomRefusal(asked),
        lengthRefusal(asked),
      ]
      return refusals.find((one) => one !== undefined)
    },
    issue: () => tokens(isOver() ? RENEWED_MS : firstMs),
    renew(refreshToken) {
      const known = renewals.get(refreshToken)
      if (!known && !refreshToken.includes('refresh')) return undefined
      if (known && setup.login === 'strict') return undefined
      const next = known ?? tokens(RENEWED_MS)
      renewals.set(refreshToken, next)
      return next
    },
  }

  function tokens(lastsMs: number): Tokens {
    return { secret: newSecret('access', now() + lastsMs), refreshToken: `${SECRET}refresh-${++issued}`, lastsMs }
  }
}

/** Most rate limits are long; some end before the next key is tried. */
const LIMITS: [number, number][] = [
  [1_000, 40_000],
  [0, 40],
]

/** Some outages end before the retry, some outlast their stated end. */
const OUTAGES: [number, number][] = [
  [500, 12_000],
  [30_000, 60_000],
]

/** Outages may outlast the faults by this much; they end before the calm phase. */
const AFTERMATH_MS = 28_000

const outageFailure = ({ kind, retryAfterMs }: { kind: FailureKind; retryAfterMs?: number }): Failure =>
  failure(kind, retryAfterMs === undefined ? {} : { retryAfterMs })

const RENEWED_MS = 120_000

const failure = (kind: FailureKind, more: Partial<Failure> = {}): Failure => ({
  kind,
  detail: `simulated ${kind}`,
  ...more,
})

/** A request is longer than the window of its model: a refusal that needs no fault. */
export const TOO_LONG = 'simulated window'

type DemandRule = { isMet(request: ModelRequest): boolean; says?: Partial<Failure> }

const asks = (field: keyof RequestAdjustments): DemandRule => ({
  isMet: ({ adjustments }) => adjustments?.[field] !== undefined,
})

/** Failures that end only when the request has the right adjustment. */
const DEMANDS: Partial<Record<FailureKind, DemandRule>> = {
  'signature-rejected': asks('stripSignatures'),
  'encrypted-reasoning-rejected': asks('dropEncryptedReasoning'),
  'image-too-large': { ...asks('shrinkImages'), says: { maxImageSide: 800 } },
  'image-rejected': asks('stripImages'),
  'payload-too-large': asks('shrinkImages'),
  'tool-images-unsupported': asks('textOnlyResults'),
  'long-context-beta-refused': asks('dropLongContextBeta'),
  'grammar-rejected': asks('relaxSchemas'),
  'output-cap-too-large': {
    isMet: ({ outputCap }) => outputCap !== undefined && outputCap <= 1_000,
    says: { availableOutput: 1_000 },
  },
}

const WIDE: ReadonlySet<FailureKind> = new Set(['context-overflow', 'long-context-refused'])

/** Transient failures are more frequent, as in reality. */
const STATUSES: FailureKind[] = [
  ...(['timeout', 'timeout', 'timeout', 'rate-limited', 'rate-limited', 'overloaded', 'overloaded'] as const),
  ...(['unreachable', 'server-error', 'upstream-rate-limited', 'auth-rejected', 'quota-exhausted'] as const),
  ...(['certificate-rejected', 'policy-blocked', 'model-unknown', 'context-overflow', 'long-context-refused'] as const),
  ...(['content-refused', 'invalid-request', 'malformed-answer', 'payload-too-large'] as const),
]
