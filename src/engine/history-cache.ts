import type { MessageBody } from '../core/message.ts'
import type { Run } from '../core/run.ts'
import type { TargetHandle } from '../core/target.ts'
import type { OpenedPrompt } from '../ports/prompt-store.ts'
import { type AgentCache, type CacheKey, type CacheOptions, newAgentCache } from './agent-cache.ts'

type CachedHistory = { bodies: MessageBody[]; bytes: number }

/** Caches the messages of conversations, in model order, between turns. */
export type HistoryCache = AgentCache<CachedHistory>

/** The values hold no resources, so there is nothing to dispose of. */
export const newHistoryCache = (options: Omit<CacheOptions<CachedHistory>, 'dispose'>): HistoryCache =>
  newAgentCache({ ...options, dispose: () => {} })

/** The history of one conversation, acquired by its turn. */
export type AcquiredHistory = {
  /** Undefined until loaded, and again after the context has changed. */
  readonly bodies: readonly MessageBody[] | undefined
  /** Sets the messages read from the store. */
  load(bodies: MessageBody[]): void
  /** Adds a message that this turn committed. */
  append(body: MessageBody): void
  /** The context of the conversation has changed: drops the messages. */
  invalidate(): void
  /** The turn ended well: stores the history for the next one. */
  save(): void
  /** Ends the turn; discards the history unless it was saved. */
  release(): void
}

type AcquireHistoryOptions = { run: Run; openedPrompt: OpenedPrompt | undefined; targets: readonly TargetHandle[] }

export function acquireHistory(
  { run, openedPrompt, targets }: AcquireHistoryOptions,
  { historyCache }: { historyCache: HistoryCache },
): AcquiredHistory {
  const { agent, conversation } = openedPrompt ?? {}
  // Model settings, such as the reasoning effort, are not part of it: a turn that changes them finds its history cached.
  const signature = JSON.stringify([run.organizationId, agent?.id, agent?.tools, targets])
  const keyAt = (position: number): CacheKey => ({ signature, sequence: `${conversation?.contextStart}.${position}` })
  const start = conversation?.nextPosition ?? 0
  const held = conversation && historyCache.acquire(conversation.id, keyAt(start))
  let cached = held?.value
  let added = 0
  let isMoved = false
  return {
    get bodies() {
      return cached?.bodies
    },
    load(bodies) {
      cached = { bodies, bytes: bodies.reduce((sum, body) => sum + estimateBytes(body), 0) }
    },
    append(body) {
      added++
      if (!cached) return
      cached.bodies.push(body)
      cached.bytes += estimateBytes(body)
    },
    invalidate() {
      cached = undefined
      isMoved = true
    },
    save() {
      // Messages of other writers are not counted: they change the key, and the next turn reads the store.
      if (cached && !isMoved) held?.release(keyAt(start + added), cached, cached.bytes)
    },
    release: () => held?.drop(),
  }
}

/** Estimated size of the objects of one message. */
const OBJECT_BYTES = 400
/** Each message is held twice: as text and as the provider's encoded JSON. */
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
