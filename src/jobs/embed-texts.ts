import type { Agent } from '../core/agent.ts'
import type { Failure, FailureKind } from '../core/failure.ts'
import type { AgentId } from '../core/id.ts'
import { handleOf, type Target } from '../core/target.ts'
import type { Clock } from '../ports/clock.ts'
import type { Embeddings } from '../ports/embeddings.ts'
import type { Shares } from '../ports/shares.ts'
import type { Store } from '../ports/store.ts'
import { EMBEDDED_CHARACTERS, type NewVector, type VectorStore, type WaitingText } from '../ports/vector-store.ts'
import { embedWithinShare } from '../service/search/embed-within-share.ts'
import { embeddingTargetOf } from '../service/search/hybrid-search.ts'

type TextEmbedderDeps = {
  vectors: VectorStore
  agents: Pick<Store['agents'], 'get'>
  embeddings: Embeddings
  /** Absent: no organization has limits. */
  shares?: Shares | undefined
  clock: Pick<Clock, 'monotonic'>
}

type TextEmbedder = {
  /** Embeds waiting texts that can be embedded now, up to a limit per call. */
  work(signal: AbortSignal): Promise<void>
}

const PAGE = 64
const MAX_PAGES = 20
/** Length for the retry after a refusal, for scripts in which one character is a token or two. */
const RETRY_CHARACTERS = 3_000
/** How often vectors of unused models are dropped, and texts committed out of order are found. */
const REVIEW_INTERVAL_MS = 10 * 60_000
const FIRST_BACKOFF_MS = 5_000
const MAX_BACKOFF_MS = 10 * 60_000

/** The provider refuses the text itself, so a retry would not help. */
const TEXT_FAILURES: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'context-overflow',
  'payload-too-large',
  'invalid-request',
  'content-refused',
])

/** Computes the vectors of texts in the background; until then keyword search finds them. */
export function newTextEmbedder({ vectors, agents, embeddings, shares, clock }: TextEmbedderDeps): TextEmbedder {
  const backoffs = new Map<string, { until: number; backoffMs: number }>()
  let doneUpTo = 0
  let reviewAt = 0

  async function work(signal: AbortSignal): Promise<void> {
    if (clock.monotonic() >= reviewAt) await review()
    let after = doneUpTo
    let firstSkipped: number | undefined
    for (let page = 0; page < MAX_PAGES && !signal.aborted; page++) {
      const waiting = await vectors.waiting(after, PAGE)
      for (const { target, texts } of await byTarget(waiting)) {
        const isDone = target === undefined || (!isBackingOff(target, texts) && (await embedAll(target, texts, signal)))
        if (!isDone) firstSkipped ??= texts[0]!.number - 1
      }
      after = waiting.at(-1)?.number ?? after
      if (waiting.length === 0) break
    }
    doneUpTo = firstSkipped ?? after
  }

  async function review(): Promise<void> {
    for (const { organizationId, agentId, model } of await vectors.models()) {
      const agent = await agents.get(organizationId, agentId)
      const wanted = agent && embeddingTargetOf(agent, embeddings)
      if (wanted && handleOf(wanted) !== model) await vectors.drop(agentId, model)
    }
    doneUpTo = 0
    reviewAt = clock.monotonic() + REVIEW_INTERVAL_MS
  }

  async function byTarget(waiting: WaitingText[]) {
    const known = new Map<AgentId, Agent | undefined>()
    const groups = new Map<string, { target: Target | undefined; texts: WaitingText[] }>()
    for (const text of waiting) {
      const { agentId, organizationId } = text
      if (!known.has(agentId)) known.set(agentId, await agents.get(organizationId, agentId))
      const target = embeddingTargetOf(known.get(agentId), embeddings)
      // An organization at its limit must not stop the texts of others.
      const name = target ? `${handleOf(target)} ${organizationId}` : ''
      const group = groups.get(name) ?? { target, texts: [] }
      group.texts.push(text)
      groups.set(name, group)
    }
    return groups.values()
  }

  const isBackingOff = (target: Target, texts: readonly WaitingText[]): boolean =>
    [handleOf(target), ofOrganization(target, texts)].some(
      (name) => (backoffs.get(name)?.until ?? 0) > clock.monotonic(),
    )

  /** A limit holds for one organization, every other failure for the model. */
  function backOff(target: Target, texts: readonly WaitingText[], { kind, retryAfterMs }: Failure): void {
    const name = kind === 'spending-limit' ? ofOrganization(target, texts) : handleOf(target)
    const before = backoffs.get(name)?.backoffMs ?? FIRST_BACKOFF_MS / 2
    const backoffMs = Math.min(MAX_BACKOFF_MS, Math.max(before * 2, retryAfterMs ?? 0))
    backoffs.set(name, { until: clock.monotonic() + backoffMs, backoffMs })
  }

  const ofOrganization = (target: Target, texts: readonly WaitingText[]): string =>
    `${handleOf(target)} ${texts[0]!.organizationId}`

  /** False: some texts are not embedded yet. */
  async function embedAll(target: Target, waiting: WaitingText[], signal: AbortSignal): Promise<boolean> {
    const model = handleOf(target)
    const texts = waiting.map(({ text }) => text.slice(0, EMBEDDED_CHARACTERS).toWellFormed())
    const payer = { organizationId: waiting[0]!.organizationId, shares }
    const answer = await embedWithinShare({ target, texts, payer }, { purpose: 'storage', signal }, embeddings)
    if (answer.type === 'vectors') {
      backoffs.delete(model)
      backoffs.delete(ofOrganization(target, waiting))
      const results = waiting.map(
        ({ number, agentId }, index): NewVector => ({
          number,
          agentId,
          model,
          result: { type: 'vector', vector: answer.vectors[index]! },
        }),
      )
      await vectors.keep(results)
      return true
    }
    const { failure } = answer
    if (!TEXT_FAILURES.has(failure.kind)) {
      if (!signal.aborted) backOff(target, waiting, failure)
      return false
    }
    if (waiting.length > 1) {
      // One of the texts is refused: sent one by one, only that one fails.
      for (const text of waiting) if (!(await embedAll(target, [text], signal))) return false
      return true
    }
    const { number, agentId, organizationId, text } = waiting[0]!
    if (text.length > RETRY_CHARACTERS)
      return embedAll(target, [{ number, agentId, organizationId, text: text.slice(0, RETRY_CHARACTERS) }], signal)
    const detail = `${failure.kind}: ${failure.detail}`.slice(0, 500)
    await vectors.keep([{ number, agentId, model, result: { type: 'refused', detail } }])
    return true
  }

  return { work }
}
