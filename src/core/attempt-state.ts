import type { CredentialId } from './credential.ts'
import { defined } from './defined.ts'
import type { Purpose, TurnEvent } from './event.ts'
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
  /** The credential that was refused with the beta header or the encrypted reasoning. */
  adjustedFor?: CredentialId
  outputCap?: number
  /** Text that reached the output limit and is being continued. */
  kept?: { answerId: MessageId; content: AnswerPart[] }
}

export type Attempts = Record<Purpose, AttemptState>

/** A summary for a request without the long context must fit the window that is left, too. */
export const newAttemptState = ({ dropLongContextBeta }: RequestAdjustments = {}): AttemptState => ({
  target: 0,
  spent: [],
  retryAt: 0,
  waitedMs: 0,
  setAside: [],
  adjustments: defined({ dropLongContextBeta }),
})

/** After a good answer only the target and credential stay. */
export function resetAfterAnswer(state: AttemptState, { credentialId }: { credentialId?: CredentialId }): AttemptState {
  return { ...newAttemptState(), target: state.target, ...defined({ credentialId: credentialId || undefined }) }
}

type AttemptFailed = Extract<TurnEvent, { type: 'attempt-failed' }>

/** The context is shorter now, so it may be compacted again if it is still too long. */
export const afterCompaction = (state: AttemptState): AttemptState => ({
  ...state,
  spent: state.spent.filter((remedy) => remedy !== 'compact'),
})

/** Folds the effect of a remedy; a restart rebuilds it from the same events. */
export function applyRemedy(state: AttemptState, event: AttemptFailed): AttemptState {
  const { remedy, credentialId } = event
  const waitedMs = state.waitedMs + (event.waitMs ?? 0)
  if (remedy === 'give-up') return state
  if (remedy === 'next-target')
    return { ...newAttemptState(), target: event.nextTarget ?? event.target + 1, waitedMs, retryAt: event.retryAt }
  const spent = [...spentWithCredential(state, credentialId), remedy]
  const used = defined({ credentialId, adjustedFor: CREDENTIAL_ADJUSTMENTS.has(remedy) ? credentialId : undefined })
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
    case 'adopt-window':
    case 'compact':
    case 'leave-out':
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

/** These depend on the account, so only the credential that was refused learns from them. */
const CREDENTIAL_ADJUSTMENTS: ReadonlySet<Remedy> = new Set(['drop-long-context-beta', 'drop-encrypted-reasoning'])

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

/** The wait budget covers the whole step: waits of the summary and of the answer count together. */
export const shareWaitedTime = ({ answer, summary }: Attempts, waitedMs: number): Attempts => ({
  answer: { ...answer, waitedMs },
  summary: { ...summary, waitedMs },
})
