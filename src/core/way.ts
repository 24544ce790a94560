import type { CredentialId } from './credential.ts'
import type { TurnEvent } from './event.ts'
import type { MessageId } from './id.ts'
import { type AnswerPart, joinContent } from './message.ts'
import type { Remedy } from './recovery.ts'
import type { RequestShape } from './request-shape.ts'

/**
 * Where a turn stands on its way to the next good answer: the place in the chain and what was tried. It starts anew with
 * every turn and, but for the target, with every answer; nothing of it is kept anywhere else.
 */
export type Way = {
  target: number
  /** Remedies used at this target since the last good answer. */
  spent: Remedy[]
  retryAt: number
  /** What the waits of this step took together, at all targets and for all purposes. */
  waitedMs: number
  /** What is to be carried out before the next attempt, as far as it happens in the world. */
  last?: Remedy
  /** Used last, and used again as long as it serves. */
  credentialId?: CredentialId
  /** Credentials that failed in this step. */
  setAside: CredentialId[]
  shape: RequestShape
  outputCap?: number
  /** A window the provider stated, smaller than the one we knew. */
  window?: number
  /** Text that reached the output limit and is being continued. */
  kept?: { answerId: MessageId; content: AnswerPart[] }
}

export const newWay = (): Way => ({ target: 0, spent: [], retryAt: 0, waitedMs: 0, setAside: [], shape: {} })

/** After a good answer: the same target and credential, and nothing else. */
export function afterAnswer(way: Way, { credentialId }: { credentialId?: CredentialId }): Way {
  return { ...newWay(), target: way.target, ...(credentialId ? { credentialId } : {}) }
}

type AttemptFailed = Extract<TurnEvent, { type: 'attempt-failed' }>

/** The effect of a remedy, which is all that a restart needs to know of it. */
export function takeRemedy(way: Way, event: AttemptFailed): Way {
  const { remedy, credentialId } = event
  const waitedMs = way.waitedMs + (event.waitMs ?? 0)
  if (remedy === 'give-up') return way
  if (remedy === 'next-target')
    return { ...newWay(), target: event.nextTarget ?? event.target + 1, waitedMs, retryAt: event.retryAt }
  const spent = [...spentWith(way, credentialId), remedy]
  const used = credentialId ? { credentialId } : {}
  const next: Way = { ...way, spent, last: remedy, waitedMs, retryAt: event.retryAt, ...used }
  switch (remedy) {
    case 'next-credential': {
      const { credentialId: _, ...rest } = next
      const guards = withoutGuards(spent)
      return { ...rest, spent: guards, setAside: credentialId ? [...way.setAside, credentialId] : way.setAside }
    }
    case 'strip-signatures':
      return withShape(next, { stripSignatures: true })
    case 'drop-encrypted-reasoning':
      return withShape(next, { dropEncryptedReasoning: true })
    case 'shrink-images':
      return withShape(next, { shrinkImages: { maxSide: event.failure.maxImageSide ?? LARGEST_IMAGE_SIDE } })
    case 'strip-images':
      return withShape(next, { stripImages: true })
    case 'text-only-results':
      return withShape(next, { textOnlyResults: true })
    case 'drop-long-context-beta':
      return withShape(next, { dropLongContextBeta: true })
    case 'relax-schemas':
      return withShape(next, { relaxSchemas: true })
    case 'adopt-window':
      return event.window === undefined ? next : { ...next, window: event.window }
    case 'cap-output':
    case 'raise-output-cap':
      return event.outputCap === undefined ? next : { ...next, outputCap: event.outputCap }
    case 'continue':
      return keepText(next, event)
    case 'wait':
    case 'retry-credential':
    case 'refresh-credential':
    case 'refresh-entitlement':
    case 'nudge':
    case 'compact':
    case 'rebuild-transport':
      return next
  }
}

/** What is spent where this credential is used; another than the last one may have come in its place unasked. */
export function spentWith(way: Way, credentialId: CredentialId | undefined): Remedy[] {
  const isOther = credentialId !== undefined && way.credentialId !== undefined && credentialId !== way.credentialId
  return isOther ? withoutGuards(way.spent) : way.spent
}

/** Another key has not been tried once yet: its guards are its own. */
const withoutGuards = (spent: readonly Remedy[]): Remedy[] => spent.filter((one) => !OF_ONE_CREDENTIAL.has(one))

const OF_ONE_CREDENTIAL: ReadonlySet<Remedy> = new Set([
  'retry-credential',
  'refresh-credential',
  'refresh-entitlement',
  'next-credential',
])

/** What most providers take without scaling it down themselves. */
const LARGEST_IMAGE_SIDE = 1_568

const withShape = (way: Way, shape: RequestShape): Way => ({ ...way, shape: { ...way.shape, ...shape } })

function keepText(way: Way, { kept, outputCap }: AttemptFailed): Way {
  if (!kept) return way
  const content = joinContent(way.kept?.content ?? [], kept.content)
  return { ...way, kept: { answerId: kept.answerId, content }, ...(outputCap === undefined ? {} : { outputCap }) }
}
