import type { MessageBody } from '../core/message.ts'
import type { Run } from '../core/run.ts'
import type { TargetHandle } from '../core/target.ts'
import type { OpenedPrompt } from '../ports/prompt-store.ts'
import { type AgentCache, type CacheKey, type CacheParts, newAgentCache } from './agent-cache.ts'

type Told = { bodies: MessageBody[]; bytes: number }

/** What conversations were told, in the order of their models; kept between turns as long as there is room. */
export type WarmAgents = AgentCache<Told>

/** Plain values: nothing of them is open. */
export const newWarmAgents = (parts: Omit<CacheParts<Told>, 'release'>): WarmAgents =>
  newAgentCache({ ...parts, release: () => {} })

/** The past of one conversation, in the hands of its turn. */
export type Past = {
  /** Absent until it is read, and again when what is in view has changed. */
  readonly bodies: readonly MessageBody[] | undefined
  /** Read from the store just now. */
  know(bodies: MessageBody[]): void
  /** Told in this turn, and committed. */
  add(body: MessageBody): void
  /** What is in view is another part of the conversation now. */
  forget(): void
  /** The turn is over: the next one may start from here. */
  keep(): void
  /** The turn is over, however it ended. */
  letGo(): void
}

type Parts = { run: Run; known: OpenedPrompt | undefined; targets: readonly TargetHandle[] }

export function holdPast({ run, known, targets }: Parts, { warm }: { warm: WarmAgents }): Past {
  const { agent, conversation } = known ?? {}
  const signature = [run.organizationId, agent?.id, agent?.updatedAt, ...targets].join('\n')
  const keyAt = (position: number): CacheKey => ({ signature, sequence: `${conversation?.contextStart}.${position}` })
  const start = conversation?.nextPosition ?? 0
  const held = conversation && warm.hold(conversation.id, keyAt(start))
  let told = held?.value
  let added = 0
  let isMoved = false
  return {
    get bodies() {
      return told?.bodies
    },
    know(bodies) {
      told = { bodies, bytes: bodies.reduce((sum, body) => sum + weightOf(body), 0) }
    },
    add(body) {
      added++
      if (!told) return
      told.bodies.push(body)
      told.bytes += weightOf(body)
    },
    forget() {
      told = undefined
      isMoved = true
    },
    keep() {
      // Other writers are not counted here: after them the next turn finds another position, and reads.
      if (told && !isMoved) held?.handBack(keyAt(start + added), told, told.bytes)
    },
    letGo: () => held?.drop(),
  }
}

/** An object or two for each part of it. */
const OBJECTS = 400
/** Its text, and the same once more in the words of a provider. */
const COPIES = 2

function weightOf(body: MessageBody): number {
  return OBJECTS + COPIES * lengthOf(body)
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
