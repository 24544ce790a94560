import type { CredentialId } from '../../core/credential.ts'
import type { FailureKind } from '../../core/failure.ts'
import type { HttpDialect } from '../../core/message.ts'
import { handleOf, type Target } from '../../core/target.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Credentials } from '../../ports/credentials.ts'
import type { Embedded, Embedder, EmbedOptions } from '../../ports/embeddings.ts'
import { WIRE_DIALECTS } from '../dialects.ts'
import type { ProviderSet } from '../provider-set.ts'
import type { EmbeddingPlace } from './request-vectors.ts'

type EmbedderOptions = {
  set: Pick<ProviderSet, 'vendors' | 'quirksOf'>
  /** What the configuration says instead of the vendor. */
  wishes: Readonly<Record<string, { dialect?: HttpDialect; timeout_ms?: number }>>
  credentials: Pick<Credentials, 'choose'>
  clock: Pick<Clock, 'now'>
}

/** What only this key is refused; another of the pool may be served. */
const OF_THE_KEY: ReadonlySet<FailureKind> = new Set(['auth-rejected', 'rate-limited', 'quota-exhausted'])
const MOST_KEYS = 4
/** After silence nobody's search is kept waiting for a while. What is stored is still tried, and ends the rest. */
const SILENCE_MS = 30_000

/** As their vendors state them. */
const DIMENSIONS: Readonly<Record<string, number>> = {
  ...{ 'text-embedding-3-small': 1536, 'text-embedding-3-large': 3072, 'text-embedding-ada-002': 1536 },
  ...{ 'gemini-embedding-001': 3072, 'text-embedding-004': 768, 'nomic-embed-text': 768, 'mxbai-embed-large': 1024 },
}

export function newEmbedder({ set, wishes, credentials, clock }: EmbedderOptions): Embedder {
  const seen = new Map<string, number>()
  const silent = new Map<string, { until: number; answer: Embedded }>()

  function placeOf(target: Target): EmbeddingPlace | undefined {
    const vendor = set.vendors.find(({ name }) => name === target.provider)
    const wish = wishes[target.provider] ?? {}
    const dialect = vendor && WIRE_DIALECTS[wish.dialect ?? vendor.dialect]
    if (!vendor || !dialect?.embeds) return undefined
    const { baseUrl, needsKey } = vendor
    return { target, dialect, baseUrl, needsKey, quirks: set.quirksOf(vendor.name), patienceMs: wish.timeout_ms }
  }

  async function embed(target: Target, texts: readonly string[], options: EmbedOptions): Promise<Embedded> {
    const place = placeOf(target)
    if (!place) return failed('model-unknown', `${target.provider} embeds nothing here`)
    const rest = silent.get(handleOf(target))
    if (rest && options.purpose === 'question' && clock.now() < rest.until) return rest.answer
    const answer = await askPool(place, texts, options)
    if (answer.type === 'vectors') {
      seen.set(handleOf(target), answer.vectors[0]!.length)
      silent.delete(handleOf(target))
    } else if (answer.failure.kind === 'timeout') {
      silent.set(handleOf(target), { until: clock.now() + SILENCE_MS, answer })
    }
    return answer
  }

  async function askPool(place: EmbeddingPlace, texts: readonly string[], options: EmbedOptions): Promise<Embedded> {
    const { target } = place
    const setAside: CredentialId[] = []
    for (;;) {
      const choice = await credentials.choose(target.provider, { setAside, at: clock.now(), signal: options.signal })
      if (choice.type === 'cooling') return failed('cooling-down', choice.detail)
      if (choice.type === 'spent') return failed('auth-rejected', choice.detail)
      if (choice.type === 'none' && place.needsKey) return failed('auth-rejected', `${target.provider} has no key`)
      const grant = choice.type === 'granted' ? choice.grant : undefined
      const { requestVectors } = await import('./request-vectors.ts')
      const answer = await requestVectors({ ...place, grant }, texts, options)
      if (answer.type === 'vectors') return answer
      const isLast = choice.type !== 'granted' || choice.siblings === 0 || setAside.length + 1 >= MOST_KEYS
      if (isLast || !OF_THE_KEY.has(answer.failure.kind)) return answer
      setAside.push(choice.grant.credentialId)
    }
  }

  return {
    serves: (target) => placeOf(target) !== undefined,
    embed,
    dimensionsOf: (target) => seen.get(handleOf(target)) ?? DIMENSIONS[target.model],
  }
}

const failed = (kind: FailureKind, detail: string): Embedded => ({ type: 'failure', failure: { kind, detail } })
