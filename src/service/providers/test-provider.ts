import { addPart, newDraft } from '../../core/answer.ts'
import type { CredentialId } from '../../core/credential.ts'
import { defined } from '../../core/defined.ts'
import type { Usage } from '../../core/event.ts'
import type { Failure } from '../../core/failure.ts'
import { textOf } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { SCRIPTED } from '../../core/target.ts'
import type { Grant } from '../../ports/credentials.ts'
import type { ModelProvider, ModelRequest } from '../../ports/model.ts'
import { listAgents } from '../agents/agents.ts'
import type { ServiceContext } from '../service-context.ts'
import { credentialRefusal, targetsInUse } from './models.ts'
import { NO_KEY, requireProvider } from './providers.ts'

type TestProviderRequest = { provider: string; model?: string; signal: AbortSignal }

type ProviderTestOutcome =
  | { type: 'answered'; text: string; usage: Usage }
  | { type: 'failed'; failure: Failure; advice?: string }

export type ProviderTestResult = {
  handle: string
  baseUrl?: string
  credentialId?: CredentialId
  tookMs: number
} & ProviderTestOutcome

/**
 * Sends one small request with the client and the credential that a turn would use. It retries nothing and stores
 * nothing: the result shows what the provider answers now.
 */
export async function testProvider(
  { provider, model, signal }: TestProviderRequest,
  context: ServiceContext,
): Promise<ProviderTestResult> {
  const { clock, models, credentials } = context.deps
  const entry = requireProvider(provider, context)
  const client = models.find(provider)
  if (!client)
    throw new Problem(
      'not-found',
      `Provider ${provider} is not configured. \`holdfast providers\` lists the configured ones.`,
    )
  const startedAt = clock.monotonic()
  const choice = await credentials.choose(provider, { setAside: [], at: clock.now(), signal })
  const grant = choice.type === 'granted' ? choice.grant : undefined
  const keyless = choice.type === 'none' && entry !== SCRIPTED && entry.needsKey
  const refusal = keyless ? NO_KEY : credentialRefusal(choice, provider)
  const chosen = model ?? (refusal ? undefined : await modelToTest(provider, { grant, signal }, context))
  const outcome = refusal
    ? failedOutcome(refusal, client, keyless ? client.endpoint?.keyAdvice : undefined)
    : await sendTestRequest(chosen, { client, provider, grant, signal })
  const baseUrl = grant?.baseUrl ?? client.endpoint?.baseUrl
  return {
    handle: chosen === undefined ? provider : `${provider}/${chosen}`,
    ...defined({ baseUrl: baseUrl || undefined, credentialId: grant ? grant.credentialId : undefined }),
    tookMs: Math.round(clock.monotonic() - startedAt),
    ...outcome,
  }
}

/** Enough for a model that reasons before its first word. */
const OUTPUT_CAP = 512
const CUT_OFF: Failure = { kind: 'cut-off', detail: 'the stream ended without a finish reason' }

type ProviderTestTarget = { client: ModelProvider; provider: string; grant: Grant | undefined; signal: AbortSignal }

async function sendTestRequest(
  model: string | undefined,
  { client, provider, grant, signal }: ProviderTestTarget,
): Promise<ProviderTestOutcome> {
  if (model === undefined)
    throw new Problem('invalid', `The models of ${provider} could not be listed. Name one with --model.`)
  const request: ModelRequest = {
    model,
    system: 'You are being tested.',
    tools: [],
    outputCap: OUTPUT_CAP,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Say hello in one short sentence.' }] }],
  }
  const draft = newDraft()
  for await (const part of client.stream(request, { signal, ...defined({ grant }) })) addPart(draft, part)
  if (signal.aborted) throw new Problem('unavailable', 'The test was stopped.')
  if (draft.failure) return failedOutcome(draft.failure, client)
  if (!draft.finish) return failedOutcome(CUT_OFF, client)
  return { type: 'answered', text: textOf(draft.content), usage: draft.usage }
}

function failedOutcome(failure: Failure, client: ModelProvider, better?: string): ProviderTestOutcome {
  const advice = better ?? client.adviceFor?.(failure.kind)
  return { type: 'failed', failure, ...defined({ advice: advice || undefined }) }
}

/** A model that an agent or the configuration uses, else the first of the provider's list. */
async function modelToTest(
  provider: string,
  { grant, signal }: Pick<ProviderTestTarget, 'grant' | 'signal'>,
  context: ServiceContext,
): Promise<string | undefined> {
  if (provider === SCRIPTED) return 'friendly'
  const used = targetsInUse({ agents: await listAgents(context), context }).find(
    (target) => target.provider === provider,
  )
  if (used) return used.model
  const list = await context.directory.listModels(provider, { signal, ...defined({ grant }) })
  return list.type === 'models' ? list.models[0]?.model : undefined
}
