import type { CredentialId } from '../../core/credential.ts'
import type { FailureKind } from '../../core/failure.ts'
import type { HttpDialect } from '../../core/message.ts'
import { handleOf, type Target } from '../../core/target.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Credentials } from '../../ports/credentials.ts'
import type { Embedder, EmbedOptions, EmbedResult } from '../../ports/embeddings.ts'
import { WIRE_DIALECTS } from '../dialects.ts'
import type { ProviderSet } from '../provider-set.ts'
import type { EmbeddingEndpoint } from './request-vectors.ts'

type EmbedderOptions = {
  set: Pick<ProviderSet, 'vendors' | 'quirksOf'>
  /** The configuration, which overrides the vendor. */
  overrides: Readonly<Record<string, { dialect?: HttpDialect; timeout_ms?: number }>>
  credentials: Pick<Credentials, 'choose'>
  clock: Pick<Clock, 'now'>
}

/** Failures of one key; another key of the pool may work. */
const KEY_FAILURES: ReadonlySet<FailureKind> = new Set(['auth-rejected', 'rate-limited', 'quota-exhausted'])
const MAX_KEYS = 4
/** After a timeout, queries fail at once for this long. Storage requests are still sent; success ends the cooldown. */
const TIMEOUT_COOLDOWN_MS = 30_000

/** As documented by the vendors. */
const DIMENSIONS: Readonly<Record<string, number>> = {
  'text-embedding-3-small': 1536,
  'text-embedding-3-large': 3072,
  'text-embedding-ada-002': 1536,
  'gemini-embedding-001': 3072,
  'text-embedding-004': 768,
  'nomic-embed-text': 768,
  'mxbai-embed-large': 1024,
}

export function newEmbedder({ set, overrides, credentials, clock }: EmbedderOptions): Embedder {
  const seenDimensions = new Map<string, number>()
  const timedOut = new Map<string, { until: number; answer: EmbedResult }>()

  function findEndpoint(target: Target): EmbeddingEndpoint | undefined {
    const vendor = set.vendors.find(({ name }) => name === target.provider)
    const override = overrides[target.provider] ?? {}
    const dialect = vendor && WIRE_DIALECTS[override.dialect ?? vendor.dialect]
    if (!vendor || !dialect?.embeds) return undefined
    const { baseUrl, needsKey } = vendor
    return { target, dialect, baseUrl, needsKey, quirks: set.quirksOf(vendor.name), timeoutMs: override.timeout_ms }
  }

  async function embed(target: Target, texts: readonly string[], options: EmbedOptions): Promise<EmbedResult> {
    const endpoint = findEndpoint(target)
    if (!endpoint) return failed('model-unknown', `provider ${target.provider} is not configured for embeddings`)
    const timeout = timedOut.get(handleOf(target))
    if (timeout && options.purpose === 'question' && clock.now() < timeout.until) return timeout.answer
    const answer = await requestWithPool(endpoint, texts, options)
    if (answer.type === 'vectors') {
      seenDimensions.set(handleOf(target), answer.vectors[0]!.length)
      timedOut.delete(handleOf(target))
    } else if (answer.failure.kind === 'timeout') {
      timedOut.set(handleOf(target), { until: clock.now() + TIMEOUT_COOLDOWN_MS, answer })
    }
    return answer
  }

  async function requestWithPool(
    endpoint: EmbeddingEndpoint,
    texts: readonly string[],
    options: EmbedOptions,
  ): Promise<EmbedResult> {
    const { target } = endpoint
    const setAside: CredentialId[] = []
    for (;;) {
      const choice = await credentials.choose(target.provider, { setAside, at: clock.now(), signal: options.signal })
      if (choice.type === 'cooling') return failed('cooling-down', choice.detail)
      if (choice.type === 'spent') return failed('auth-rejected', choice.detail)
      if (choice.type === 'none' && endpoint.needsKey)
        return failed('auth-rejected', `the API key of ${target.provider} is missing`)
      const grant = choice.type === 'granted' ? choice.grant : undefined
      const { requestVectors } = await import('./request-vectors.ts')
      const answer = await requestVectors({ ...endpoint, grant }, texts, options)
      if (answer.type === 'vectors') return answer
      const isLast = choice.type !== 'granted' || choice.siblings === 0 || setAside.length + 1 >= MAX_KEYS
      if (isLast || !KEY_FAILURES.has(answer.failure.kind)) return answer
      setAside.push(choice.grant.credentialId)
    }
  }

  return {
    serves: (target) => findEndpoint(target) !== undefined,
    embed,
    dimensionsOf: (target) => seenDimensions.get(handleOf(target)) ?? DIMENSIONS[target.model],
  }
}

const failed = (kind: FailureKind, detail: string): EmbedResult => ({ type: 'failure', failure: { kind, detail } })
