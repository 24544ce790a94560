import { type Agent, chainOf } from '../../core/agent.ts'
import { defined } from '../../core/defined.ts'
import type { Failure } from '../../core/failure.ts'
import type { ModelNote } from '../../core/model-note.ts'
import type { Price } from '../../core/price.ts'
import { parseTarget, SCRIPTED, type Target } from '../../core/target.ts'
import type { CredentialChoice } from '../../ports/credentials.ts'
import type { ListedModel } from '../../ports/provider-directory.ts'
import { listAgents } from '../agents/agents.ts'
import type { ServiceContext } from '../service-context.ts'
import { listModelNotes } from './model-notes.ts'
import { type ListedProvider, listProviders, NO_KEY, requireProvider } from './providers.ts'

type ListModelsRequest = { provider?: string; signal: AbortSignal }

/** `learned`: from a provider error about a request that was too long. `stated`: from the provider's model list. */
type WindowSource = 'learned' | 'config' | 'table' | 'stated'

export type KnownModel = {
  handle: string
  window?: { tokens: number; from: WindowSource }
  maxOutput?: number
  price?: Price
  /** Learned from failures. */
  notes: ModelNote[]
  usedBy: string[]
  /** False: an agent uses it, but the provider's list does not contain it. */
  isListed: boolean
}

export type ProviderModels = {
  provider: string
  /** Why the list could not be read; models that agents use are listed all the same. */
  failure?: Failure
  advice?: string
  models: KnownModel[]
}

/** The models of all configured providers, with a request to each for its list, in parallel. */
export async function listModels(
  { provider, signal }: ListModelsRequest,
  context: ServiceContext,
): Promise<ProviderModels[]> {
  const wanted = provider === undefined ? undefined : requireProvider(provider, context)
  const [providers, agents, notes] = await Promise.all([
    listProviders(context),
    listAgents(context),
    listModelNotes(context),
  ])
  const known: ModelUsage = { agents, notes, context }
  const queried = providers.filter((one) => (wanted ? one.name === provider : isWorthAsking(one)))
  const answers = await Promise.all(queried.map((one) => readProviderModels(one, signal, known)))
  // A local server that is not configured is listed if it answers.
  const shown = answers.filter(
    (_, index) => wanted || queried[index]!.state !== 'not-configured' || !answers[index]!.failure,
  )
  return wanted === undefined || wanted === SCRIPTED ? [scriptedModels(known), ...shown] : shown
}

/** A provider without its key cannot list models; a local server may run without any configuration. */
const isWorthAsking = ({ state, needsKey }: ListedProvider): boolean => state !== 'not-configured' || !needsKey

type ModelUsage = { agents: Agent[]; notes: ModelNote[]; context: ServiceContext }

async function readProviderModels(
  provider: ListedProvider,
  signal: AbortSignal,
  known: ModelUsage,
): Promise<ProviderModels> {
  const { context } = known
  const { name } = provider
  const answer = await requestModelList(provider, signal, context)
  const listed = answer.models ?? []
  const inUse = targetsInUse(known).filter((target) => target.provider === name)
  const unlisted = inUse.filter(({ model }) => !listed.some((entry) => entry.model === model))
  const models = [
    ...listed.map((entry) => knownModel(name, entry, { ...known, isListed: true })),
    ...unlisted.map(({ model }) => knownModel(name, { model }, { ...known, isListed: false })),
  ].sort((one, other) => other.usedBy.length - one.usedBy.length || (one.handle < other.handle ? -1 : 1))
  if (!answer.failure) return { provider: name, models }
  const client = context.deps.models.find(name)
  const advice = answer.failure === NO_KEY ? client?.endpoint?.keyAdvice : client?.adviceFor?.(answer.failure.kind)
  return { provider: name, failure: answer.failure, ...defined({ advice: advice || undefined }), models }
}

type ModelListAnswer = { models: ListedModel[]; failure?: never } | { models?: never; failure: Failure }

async function requestModelList(
  { name, needsKey }: ListedProvider,
  signal: AbortSignal,
  context: ServiceContext,
): Promise<ModelListAnswer> {
  const choice = await context.deps.credentials.choose(name, { setAside: [], at: context.deps.clock.now(), signal })
  const refusal = credentialRefusal(choice, name)
  if (refusal) return { failure: refusal }
  if (choice.type === 'none' && needsKey) return { failure: NO_KEY }
  const grant = choice.type === 'granted' ? { grant: choice.grant } : {}
  const answer = await context.directory.listModels(name, { ...grant, signal })
  return answer.type === 'models' ? { models: answer.models } : { failure: answer.failure }
}

/** Why the pool of a provider grants no credential, as a failure of the engine. */
export function credentialRefusal(choice: CredentialChoice, provider: string): Failure | undefined {
  if (choice.type === 'spent') return { kind: 'auth-rejected', detail: choice.detail }
  if (choice.type !== 'cooling') return undefined
  const end = new Date(choice.until).toISOString()
  const detail = `every credential of ${provider} is cooling down until ${end} (${choice.reason}: ${choice.detail})`
  return { kind: 'cooling-down', detail }
}

function knownModel(provider: string, listed: ListedModel, known: ModelUsage & { isListed: boolean }): KnownModel {
  const { model } = listed
  const { agents, notes, context, isListed } = known
  const handle = `${provider}/${model}`
  const facts = context.directory.factsOf({ provider, model })
  const learned = notes.filter((note) => note.provider === provider && note.model === model)
  const learnedWindow = learned.find(({ kind }) => kind === 'window')?.value
  const window: KnownModel['window'] =
    typeof learnedWindow === 'number'
      ? { tokens: learnedWindow, from: 'learned' }
      : facts.window !== undefined
        ? { tokens: facts.window, from: facts.windowFrom ?? 'table' }
        : listed.window === undefined
          ? undefined
          : { tokens: listed.window, from: 'stated' }
  const maxOutput = facts.maxOutput ?? listed.maxOutput
  const price = listed.price ?? context.directory.priceOf({ provider, model })
  const usedBy = agents.filter((agent) => chainOf(agent, context.defaults.fallback).some((one) => one === handle))
  return {
    handle,
    ...defined({ window, maxOutput, price }),
    notes: learned,
    usedBy: usedBy.map(({ name }) => name),
    isListed,
  }
}

const scriptedModels = (known: ModelUsage): ProviderModels => ({
  provider: SCRIPTED,
  models: [knownModel(SCRIPTED, { model: 'friendly' }, { ...known, isListed: true })],
})

/** Every target that an agent or the configuration uses. */
export function targetsInUse({ agents, context: { defaults } }: Pick<ModelUsage, 'agents' | 'context'>): Target[] {
  const handles = [
    ...agents.flatMap((agent) => chainOf(agent, defaults.fallback)),
    defaults.model,
    ...(defaults.fallback ?? []),
  ]
  return [...new Set(handles)].flatMap((handle) => parseTarget(handle) ?? [])
}
