import { untilAborted } from '../core/abort.ts'
import { addPart, type Draft, newDraft, type Part } from '../core/answer.ts'
import type { AttemptState } from '../core/attempt-state.ts'
import { defined } from '../core/defined.ts'
import { errorText } from '../core/error-text.ts'
import { type Failure, type FailureKind, MISSING_KEY } from '../core/failure.ts'
import { DEFAULT_ORGANIZATION } from '../core/id.ts'
import { adjustmentsOf, NOTE_KINDS, notesInForce } from '../core/model-note.ts'
import type { RequestAdjustments } from '../core/request-adjustments.ts'
import { type ModelNotes, type NoteKind, parseTarget, type Target } from '../core/target.ts'
import type { Clock } from '../ports/clock.ts'
import type { ModelNoteStore } from '../ports/credential-store.ts'
import type { CredentialChoice, Credentials } from '../ports/credentials.ts'
import type { ModelFacts, ModelProvider, ModelRequest, Models } from '../ports/model.ts'
import type { TurnAccount } from './turn-account.ts'

export type AttemptDeps = {
  models: Models
  credentials: Credentials
  modelNotes: Pick<ModelNoteStore, 'get'>
  clock: Clock
  /** Aborted on cancel, shutdown and loss of the lease. */
  signal: AbortSignal
  /** Rejected secrets by credential, so that a refresh is skipped if the secret is already newer. */
  refusedSecrets: Map<string, string>
  /** Absent: no organization has limits. */
  account?: TurnAccount
}

/** A target with its provider, credential and model facts, ready for a request. */
export type ResolvedTarget = {
  handle: string
  target: Target
  provider: ModelProvider
  choice: Extract<CredentialChoice, { type: 'granted' | 'none' }>
  facts: ModelFacts
  /** Learned from earlier failures of this model, or of this credential at it. */
  notes: ModelNotes
  /** Of the remedies of this step and of the notes. */
  adjustments: RequestAdjustments
}

/** Finds the provider and credential for a target; or why there is none. */
export async function resolveTarget(
  handle: string,
  state: AttemptState,
  deps: AttemptDeps,
): Promise<ResolvedTarget | Failure> {
  const target = parseTarget(handle)
  const provider = target && deps.models.find(target.provider)
  if (!target) return { kind: 'model-unknown', detail: `"${handle}" is not a model handle, written provider/model` }
  if (!provider) {
    const advice = '`holdfast providers` shows how to configure it'
    return { kind: 'model-unknown', detail: `provider ${target.provider} is not configured; ${advice}` }
  }
  const refusal = await deps.account?.refusal(handle)
  if (refusal) return refusal
  const fault = await performRemedy(state, provider, deps)
  if (fault) return fault
  const { setAside, credentialId } = state
  const choice: CredentialChoice = provider.endpoint
    ? await deps.credentials.choose(target.provider, {
        setAside,
        ...defined({ preferred: credentialId || undefined }),
        at: deps.clock.now(),
        signal: deps.signal,
        ...defined({ payer: await deps.account?.payerFor(target.provider) }),
      })
    : { type: 'none' }
  switch (choice.type) {
    case 'cooling': {
      const retryAfterMs = Math.max(0, choice.until - deps.clock.now())
      const end = new Date(choice.until).toISOString()
      const detail = `every credential of ${target.provider} is cooling down until ${end} (${choice.reason}: ${choice.detail})`
      return { kind: 'cooling-down', detail, retryAfterMs }
    }
    case 'not-allowed':
      if (!provider.endpoint?.needsKey)
        return {
          handle,
          target,
          provider,
          choice: { type: 'none' },
          ...(await readFacts({ target, provider }, { adjustments: state.adjustments }, deps)),
        }
      return {
        kind: 'model-not-allowed',
        detail: `the organization has no key of its own for ${target.provider} and may not use the server's (\`holdfast limits\`); no request was sent`,
      }
    case 'spent':
      return { kind: 'auth-rejected', detail: choice.detail }
    case 'granted':
    case 'none': {
      if (choice.type === 'none' && provider.endpoint?.needsKey)
        return {
          kind: 'auth-rejected',
          code: MISSING_KEY,
          detail: `the API key of ${target.provider} is missing, so no request was sent`,
          ...defined({ advice: provider.endpoint.keyAdvice }),
        }
      const credentialId = choice.type === 'granted' ? choice.grant.credentialId : undefined
      const known = { adjustments: state.adjustments, ...defined({ credentialId }) }
      return { handle, target, provider, choice, ...(await readFacts({ target, provider }, known, deps)) }
    }
  }
}

type FactsDeps = Pick<AttemptDeps, 'modelNotes' | 'clock'>
type FactsState = Pick<AttemptState, 'adjustments' | 'credentialId'>

/** What is known about a model: the provider's facts, and what earlier failures taught. */
async function readFacts(
  { target, provider }: { target: Target; provider: ModelProvider },
  state: FactsState,
  { modelNotes, clock }: FactsDeps,
): Promise<Pick<ResolvedTarget, 'facts' | 'notes' | 'adjustments'>> {
  // Like the credentials they may be about, notes belong to the server.
  const stored = provider.endpoint ? await modelNotes.get(DEFAULT_ORGANIZATION, target.provider, target.model) : []
  const { credentialId } = state
  const notes = notesInForce(stored, { at: clock.now(), ...defined({ credentialId }) })
  const adjustments = { ...adjustmentsOf(notes), ...state.adjustments }
  const known = provider.factsOf?.(target.model, adjustments)
  return { facts: { ...known, ...defined({ window: notes.window || undefined }) }, notes, adjustments }
}

/** The known context window of a target that is not asked now; undefined if it is unknown. */
export async function knownWindow(
  handle: string,
  state: FactsState,
  { models, ...deps }: FactsDeps & Pick<AttemptDeps, 'models'>,
): Promise<number | undefined> {
  const target = parseTarget(handle)
  const provider = target && models.find(target.provider)
  return provider ? (await readFacts({ target, provider }, state, deps)).facts.window : undefined
}

/** Performs the external effect of the last remedy. Repeating it after a restart is harmless. */
async function performRemedy(
  state: AttemptState,
  provider: ModelProvider,
  deps: AttemptDeps,
): Promise<Failure | undefined> {
  const { lastRemedy } = state
  if (lastRemedy === 'rebuild-transport') return renewConnections(provider)
  if (lastRemedy !== 'refresh-credential' && lastRemedy !== 'refresh-entitlement') return undefined
  if (!state.credentialId) return undefined
  const failedSecret = deps.refusedSecrets.get(state.credentialId) ?? ''
  await deps.credentials.refresh(state.credentialId, {
    failedSecret,
    signal: deps.signal,
    ...defined({ entitlement: lastRemedy === 'refresh-entitlement' ? (true as const) : undefined }),
  })
  return undefined
}

/** A failed reconnect fails the attempt, not the run. */
async function renewConnections(provider: ModelProvider): Promise<Failure | undefined> {
  try {
    await provider.renewConnections?.()
    return undefined
  } catch (error) {
    const reason = errorText(error)
    return { kind: 'unreachable', detail: `reconnecting failed: ${reason}` }
  }
}

export type RequestContent = Pick<ModelRequest, 'system' | 'messages' | 'tools' | 'mustCall' | 'settings'>

/** Sends one request to one target and returns the draft, complete or not. Never throws; stops at the abort. */
export async function askModel(
  question: RequestContent,
  { resolved, state }: { resolved: ResolvedTarget; state: AttemptState },
  { deps, onPart }: { deps: AttemptDeps; onPart(part: Part): void },
): Promise<Draft> {
  const draft = newDraft()
  const { provider, target, choice, adjustments, handle, facts } = resolved
  const request: ModelRequest = {
    model: target.model,
    ...question,
    ...defined({
      adjustments: Object.keys(adjustments).length > 0 ? adjustments : undefined,
      effort: question.settings?.effort,
      outputCap: lower(state.outputCap, question.settings?.maxOutputTokens),
    }),
  }
  const grant = choice.type === 'granted' ? { grant: choice.grant } : {}
  const reserved = await deps.account?.reserve(handle, request, facts.maxOutput)
  if (reserved && 'kind' in reserved) {
    addPart(draft, { type: 'failure', failure: reserved })
    return draft
  }
  const take = (received: Part) => {
    const part = received.type === 'failure' && grant.grant ? withoutSecret(received, grant.grant.secret) : received
    addPart(draft, part)
    onPart(part)
  }
  await untilAborted(consume(provider, request, { signal: deps.signal, ...grant, take }), deps.signal)
  await reserved?.settle(draft)
  if (draft.failure && REFUSES_SECRET.has(draft.failure.kind) && choice.type === 'granted')
    deps.refusedSecrets.set(choice.grant.credentialId, choice.grant.secret)
  return draft
}

/** The notes that an event names, if any. */
export function appliedNotes({ notes }: ResolvedTarget): NoteKind[] | undefined {
  const kinds = NOTE_KINDS.filter((kind) => notes[kind] !== undefined)
  return kinds.length > 0 ? kinds : undefined
}

/** The lower of two limits, either of which may be absent. */
export const lower = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)

/** Failures that another secret may avoid. */
const REFUSES_SECRET: ReadonlySet<FailureKind> = new Set(['auth-rejected', 'quota-exhausted'])

/** Redacts the secret from failures: a provider may repeat it, and not every secret matches a key pattern. */
function withoutSecret({ failure }: Extract<Part, { type: 'failure' }>, secret: string): Part {
  const hide = (text: string) => (secret.length < MIN_SECRET_LENGTH ? text : text.replaceAll(secret, '[secret]'))
  const { detail, code, requestId } = failure
  return {
    type: 'failure',
    failure: {
      ...failure,
      detail: hide(detail),
      ...defined({
        code: code === undefined ? undefined : hide(code),
        requestId: requestId === undefined ? undefined : hide(requestId),
      }),
    },
  }
}

/** A shorter text is not a secret and occurs in ordinary words. */
const MIN_SECRET_LENGTH = 4

type ConsumeOptions = Parameters<ModelProvider['stream']>[1] & { take(part: Part): void }

/** Reads the provider's stream. A provider that throws fails the attempt, not the run. */
async function consume(
  provider: ModelProvider,
  request: ModelRequest,
  { take, ...options }: ConsumeOptions,
): Promise<void> {
  const { signal } = options
  try {
    for await (const part of provider.stream(request, options)) {
      // After the abort the attempt is over: parts that still arrive are dropped.
      if (signal.aborted) return
      take(part)
    }
  } catch (error) {
    if (signal.aborted) return
    const detail = errorText(error)
    take({ type: 'failure', failure: { kind: 'unreachable', detail: `the provider client threw an error: ${detail}` } })
  }
}
