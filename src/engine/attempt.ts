import { untilAborted } from '../core/abort.ts'
import { type Draft, newDraft, type Part, takePart } from '../core/answer.ts'
import { errorText } from '../core/error-text.ts'
import type { Failure, FailureKind } from '../core/failure.ts'
import type { OrganizationId } from '../core/id.ts'
import { parseTarget, type Target } from '../core/target.ts'
import type { Way } from '../core/way.ts'
import type { Clock } from '../ports/clock.ts'
import type { ModelNoteStore } from '../ports/credential-store.ts'
import type { Choice, Credentials } from '../ports/credentials.ts'
import type { ModelFacts, ModelProvider, ModelRequest, Models } from '../ports/model.ts'

export type Asker = {
  models: Models
  credentials: Credentials
  modelNotes: Pick<ModelNoteStore, 'get'>
  organizationId: OrganizationId
  clock: Clock
  /** Aborted on cancel, shutdown and loss of the lease. */
  signal: AbortSignal
  /** Secrets that were refused, by credential, so that a renewal is not spent on one that is new already. */
  refused: Map<string, string>
}

/** Everything one attempt knows of where it goes. */
export type Place = {
  handle: string
  target: Target
  provider: ModelProvider
  choice: Extract<Choice, { type: 'granted' | 'none' }>
  facts: ModelFacts
  /** Learnt from an earlier failure of this model. */
  textOnlyResults: boolean
}

/** The provider to ask and the credential to ask with; or why there is none. */
export async function findPlace(handle: string, way: Way, asker: Asker): Promise<Place | Failure> {
  const target = parseTarget(handle)
  const provider = target && asker.models.find(target.provider)
  if (!provider) return { kind: 'model-unknown', detail: `no provider serves "${handle}"` }
  const fault = await carryOut(way, provider, asker)
  if (fault) return fault
  const { setAside, credentialId } = way
  const choice: Choice = provider.endpoint
    ? await asker.credentials.choose(target.provider, {
        setAside,
        ...(credentialId ? { preferred: credentialId } : {}),
        at: asker.clock.now(),
        signal: asker.signal,
      })
    : { type: 'none' }
  switch (choice.type) {
    case 'cooling': {
      const retryAfterMs = Math.max(0, choice.until - asker.clock.now())
      const end = new Date(choice.until).toISOString()
      const detail = `every credential of ${target.provider} rests until ${end} (${choice.reason}: ${choice.detail})`
      return { kind: 'cooling-down', detail, retryAfterMs }
    }
    case 'spent':
      return { kind: 'auth-rejected', detail: choice.detail }
    case 'granted':
    case 'none': {
      if (choice.type === 'none' && provider.endpoint?.needsKey)
        return { kind: 'auth-rejected', detail: `there is no key for ${target.provider}; nobody was asked` }
      const notes = provider.endpoint ? await notesOn(target, asker) : {}
      const facts = { ...provider.factsOf?.(target.model), ...(notes.window ? { window: notes.window } : {}) }
      return { handle, target, provider, choice, facts, textOnlyResults: notes.textOnlyResults ?? false }
    }
  }
}

const notesOn = ({ provider, model }: Target, { modelNotes, organizationId }: Asker) =>
  modelNotes.get(organizationId, provider, model)

/** The part of a remedy that happens in the world, once the fold has it. Doing it again after a restart is harmless. */
async function carryOut(way: Way, provider: ModelProvider, asker: Asker): Promise<Failure | undefined> {
  const { last } = way
  if (last === 'rebuild-transport') return renewConnections(provider)
  if (last !== 'refresh-credential' && last !== 'refresh-entitlement') return undefined
  if (!way.credentialId) return undefined
  const failedSecret = asker.refused.get(way.credentialId) ?? ''
  await asker.credentials.refresh(way.credentialId, {
    failedSecret,
    signal: asker.signal,
    ...(last === 'refresh-entitlement' ? { entitlement: true as const } : {}),
  })
  return undefined
}

/** A client that cannot be built anew has failed its attempt, not the run. */
async function renewConnections(provider: ModelProvider): Promise<Failure | undefined> {
  try {
    await provider.renewConnections?.()
    return undefined
  } catch (error) {
    const reason = errorText(error)
    return { kind: 'unreachable', detail: `its connections could not be renewed: ${reason}` }
  }
}

export type Question = Pick<ModelRequest, 'system' | 'messages' | 'tools' | 'mustCall'>

/** One request to one target: what came of it, whole or not. Never throws; stops listening at the abort. */
export async function ask(
  question: Question,
  { place, way }: { place: Place; way: Way },
  { asker, onPart }: { asker: Asker; onPart(part: Part): void },
): Promise<Draft> {
  const draft = newDraft()
  const { provider, target, choice } = place
  const shape = place.textOnlyResults ? { ...way.shape, textOnlyResults: true as const } : way.shape
  const request: ModelRequest = {
    model: target.model,
    ...question,
    ...(Object.keys(shape).length > 0 ? { shape } : {}),
    ...(way.outputCap === undefined ? {} : { outputCap: way.outputCap }),
  }
  const grant = choice.type === 'granted' ? { grant: choice.grant } : {}
  const take = (said: Part) => {
    const part = said.type === 'failure' && grant.grant ? withoutSecret(said, grant.grant.secret) : said
    takePart(draft, part)
    onPart(part)
  }
  await untilAborted(consume(provider, request, { signal: asker.signal, ...grant, take }), asker.signal)
  if (draft.failure && REFUSES_SECRET.has(draft.failure.kind) && choice.type === 'granted')
    asker.refused.set(choice.grant.credentialId, choice.grant.secret)
  return draft
}

/** Failures after which another secret may do better. */
const REFUSES_SECRET: ReadonlySet<FailureKind> = new Set(['auth-rejected', 'quota-exhausted'])

/** A provider may repeat the key it was shown, and not every key looks like one: it stays out of our records. */
function withoutSecret({ failure }: Extract<Part, { type: 'failure' }>, secret: string): Part {
  const hide = (text: string) => (secret.length < SHORTEST_SECRET ? text : text.replaceAll(secret, '[secret]'))
  const { detail, code, requestId } = failure
  return {
    type: 'failure',
    failure: {
      ...failure,
      detail: hide(detail),
      ...(code === undefined ? {} : { code: hide(code) }),
      ...(requestId === undefined ? {} : { requestId: hide(requestId) }),
    },
  }
}

/** Less is no secret, and is part of many words. */
const SHORTEST_SECRET = 4

type Consumer = Parameters<ModelProvider['stream']>[1] & { take(part: Part): void }

/** Takes what the provider says. One that throws has failed its attempt, not the run. */
async function consume(provider: ModelProvider, request: ModelRequest, { take, ...options }: Consumer): Promise<void> {
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
    take({ type: 'failure', failure: { kind: 'unreachable', detail: `the provider broke: ${detail}` } })
  }
}
