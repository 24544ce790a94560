import type { MessageBody } from '../core/message.ts'
import type { Run } from '../core/run.ts'
import type { TargetHandle } from '../core/target.ts'
import type { OpenedPrompt } from '../ports/prompt-store.ts'
import { type AgentCache, type CacheKey, type CacheOptions, newAgentCache } from './agent-cache.ts'

type CachedHistory = { bodies: MessageBody[]; bytes: number }

/** What conversations were told, in the order of their models; kept between turns as long as there is room. */
export type HistoryCache = AgentCache<CachedHistory>

/** Plain values: nothing of them is open. */
export const newHistoryCache = (parts: Omit<CacheOptions<CachedHistory>, 'dispose'>): HistoryCache =>
  newAgentCache({ ...parts, dispose: () => {} })

/** The past of one conversation, in the hands of its turn. */
export type AcquiredHistory = {
  /** Absent until it is read, and again when what is in view has changed. */
  readonly bodies: readonly MessageBody[] | undefined
  /** Read from the store just now. */
  load(bodies: MessageBody[]): void
  /** Told in this turn, and committed. */
  append(body: MessageBody): void
  /** What is in view is another part of the conversation now. */
  invalidate(): void
  /** The turn is over: the next one may start from here. */
  save(): void
  /** The turn is over, however it ended. */
  release(): void
}

type AcquireHistoryOptions = { run: Run; known: OpenedPrompt | undefined; targets: readonly TargetHandle[] }

export function acquireHistory(
  { run, known, targets }: AcquireHistoryOptions,
  { historyCache }: { historyCache: HistoryCache },
): AcquiredHistory {
  const { agent, conversation } = known ?? {}
  const signature = [run.organizationId, agent?.id, agent?.updatedAt, ...targets].join('\n')
  const keyAt = (position: number): CacheKey => ({ signature, sequence: `${conversation?.contextStart}.${position}` })
  const start = conversation?.nextPosition ?? 0
  const held = conversation && historyCache.acquire(conversation.id, keyAt(start))
  let told = held?.value
  let added = 0
  let isMoved = false
  return {
    get bodies() {
      return told?.bodies
    },
    load(bodies) {
      told = { bodies, bytes: bodies.reduce((sum, body) => sum + estimateBytes(body), 0) }
    },
    append(body) {
      added++
      if (!told) return
      told.bodies.push(body)
      told.bytes += estimateBytes(body)
    },
    invalidate() {
      told = undefined
      isMoved = true
    },
    save() {
      // Other writers are not counted here: after them the next turn finds another position, and reads.
      if (told && !isMoved) held?.release(keyAt(start + added), told, told.bytes)
    },
    release: () => held?.drop(),
  }
}

/** An object or two for each part of it. */
const OBJECT_BYTES = 400
/** Its text, and the same once more in the words of a provider. */
const COPIES = 2

function estimateBytes(body: MessageBody): number {
  return OBJECT_BYTES + COPIES * lengthOf(body)
}

function lengthOf(body: MessageBody): number {
  switch (body.role) {
    case 'user':
    case 'system':
      return contentLength(body.content)
    case 'assistant':
      return contentLength(body.content) + JSON.stringify(body.calls).length
    case 'tool':
      return body.outcomes.reduce((sum, { output }) => sum + output.length, 0)
    case 'summary':
      return body.text.length
    case 'approval':
      return 0
  }
}

const contentLength = (parts: readonly object[]): number =>
  parts.reduce((sum, part) => sum + ('text' in part ? String(part.text).length : JSON.stringify(part).length), 0)
