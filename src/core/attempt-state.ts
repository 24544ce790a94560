import type { CredentialId } from './credential.ts'
import { defined } from './defined.ts'
import type { TurnEvent } from './event.ts'
import type { MessageId } from './id.ts'
import { type AnswerPart, joinContent } from './message.ts'
import type { Remedy } from './recovery.ts'
import type { RequestAdjustments } from './request-adjustments.ts'

/**
 * How far a turn has come towards its next good answer: the target in the chain and the remedies tried. Every turn
 * starts with a new one; every answer resets it except for the target and credential. It is not stored outside the
 * fold.
 */
export type AttemptState = {
  target: number
  /** Remedies used at this target since the last good answer. */
  spent: Remedy[]
  retryAt: number
  /** Total time of all waits in this step, at all targets and for all purposes. */
  waitedMs: number
  /** The remedy to perform before the next attempt, if it has an external effect. */
  lastRemedy?: Remedy
  /** The credential used last; it is preferred for the next attempt. */
  credentialId?: CredentialId
  /** Credentials that failed in this step. */
  setAside: CredentialId[]
  adjustments: RequestAdjustments
  outputCap?: number
  /** A context window the provider stated, smaller than the known one. */
  window?: number
  /** Text that reached the output limit and is being continued. */
  kept?: { answerId: MessageId; content: AnswerPart[] }
}

export const newAttemptState = (): AttemptState => ({
  target: 0,
  spent: [],
  retryAt: 0,
  waitedMs: 0,
  setAside: [],
  adjustments: {},
})

/** After a good answer only the target and credential stay. */
export function resetAfterAnswer(state: AttemptState, { credentialId }: { credentialId?: CredentialId }): AttemptState {
  return { ...newAttemptState(), target: state.target, ...defined({ credentialId: credentialId || undefined }) }
}

type AttemptFailed = Extract<TurnEvent, { type: 'attempt-failed' }>

/** Folds the effect of a remedy; a restart rebuilds it from the same events. */
export function applyRemedy(state: AttemptState, event: AttemptFailed): AttemptState {
  const { remedy, credentialId } = event
  const waitedMs = state.waitedMs + (event.waitMs ?? 0)
  if (remedy === 'give-up') return state
  if (remedy === 'next-target')
    return { ...newAttemptState(), target: event.nextTarget ?? event.target + 1, waitedMs, retryAt: event.retryAt }
  const spent = [...spentWithCredential(state, credentialId), remedy]
  const used = credentialId ? { credentialId } : {}
  const next: AttemptState = { ...state, spent, lastRemedy: remedy, waitedMs, retryAt: event.retryAt, ...used }
  switch (remedy) {
    case 'next-credential': {
      const { credentialId: _, ...rest } = next
      const guards = withoutCredentialRemedies(spent)
      return { ...rest, spent: guards, setAside: credentialId ? [...state.setAside, credentialId] : state.setAside }
    }
    case 'strip-signatures':
      return withAdjustments(next, { stripSignatures: true })
    case 'drop-encrypted-reasoning':
      return withAdjustments(next, { dropEncryptedReasoning: true })
    case 'shrink-images':
      return withAdjustments(next, { shrinkImages: { maxSide: event.failure.maxImageSide ?? MAX_IMAGE_SIDE } })
    case 'strip-images':
      return withAdjustments(next, { stripImages: true })
    case 'text-only-results':
      return withAdjustments(next, { textOnlyResults: true })
    case 'drop-long-context-beta':
      return withAdjustments(next, { dropLongContextBeta: true })
    case 'relax-schemas':
      return withAdjustments(next, { relaxSchemas: true })
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
    case 'prompt-again':
    case 'compact':
    case 'rebuild-transport':
      return next
  }
}

/** The remedies spent for this credential. The pool may have switched to another credential by itself. */
export function spentWithCredential(state: AttemptState, credentialId: CredentialId | undefined): Remedy[] {
  const isOther = credentialId !== undefined && state.credentialId !== undefined && credentialId !== state.credentialId
  return isOther ? withoutCredentialRemedies(state.spent) : state.spent
}

/** Another credential has its own uses of these remedies. */
const withoutCredentialRemedies = (spent: readonly Remedy[]): Remedy[] =>
  spent.filter((one) => !CREDENTIAL_REMEDIES.has(one))

const CREDENTIAL_REMEDIES: ReadonlySet<Remedy> = new Set([
  'retry-credential',
  'refresh-credential',
  'refresh-entitlement',
  'next-credential',
])

/** Most providers accept images of this size without scaling them down. */
const MAX_IMAGE_SIDE = 1_568

const withAdjustments = (state: AttemptState, adjustments: RequestAdjustments): AttemptState => ({
  ...state,
  adjustments: { ...state.adjustments, ...adjustments },
})

function keepText(state: AttemptState, { kept, outputCap }: AttemptFailed): AttemptState {
  if (!kept) return state
  const content = joinContent(state.kept?.content ?? [], kept.content)
  return { ...state, kept: { answerId: kept.answerId, content }, ...defined({ outputCap }) }
}
