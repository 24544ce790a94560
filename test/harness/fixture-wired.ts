import type { TestContext } from 'node:test'
import { realRandomness } from '../../src/config/real-randomness.ts'
import { openSecretKeys } from '../../src/config/secret-key.ts'
import type { Cooldown, CredentialId } from '../../src/core/credential.ts'
import { defined } from '../../src/core/defined.ts'
import type { TurnEvent } from '../../src/core/event.ts'
import { DEFAULT_ORGANIZATION, type RunId } from '../../src/core/id.ts'
import { type MessageBody, textOf } from '../../src/core/message.ts'
import type { ModelProvider } from '../../src/ports/model.ts'
import {
  type CredentialPool,
  type CredentialPoolOptions,
  newCredentialPool,
} from '../../src/providers/credentials/credential-pool.ts'
import { environmentSources } from '../../src/providers/credentials/environment-keys.ts'
import { newProviderSet, type ProviderOverrides } from '../../src/providers/provider-set.ts'
import { listCooldowns } from '../../src/service/credentials/cooldowns.ts'
import { type AddCredentialRequest, addCredential } from '../../src/service/credentials/credentials.ts'
import { type HomeFixture, type HomeFixtureOptions, openHomeFixture } from './fixture-home.ts'
import { type JumpingClock, newJumpingClock } from './jumping-clock.ts'

export type WiredFixtureOptions = Pick<HomeFixtureOptions, 'tools' | 'defaults' | 'wrapStore' | 'maxRunning'> &
  Pick<Partial<CredentialPoolOptions>, 'strategies' | 'flows'> & {
    /** Handles, the primary first. */
    chain: readonly [string, ...string[]]
    providers: Record<string, ProviderOverrides>
    /** The environment variables of the process; they may change. */
    environment?: Record<string, string | undefined>
    /** Providers that are not created from `providers`. */
    others?: () => Record<string, ModelProvider>
    /** Waits up to this end at once. */
    longestJumpMs?: number
  }

export type AttemptFailed = Extract<TurnEvent, { type: 'attempt-failed' }>

/** A home whose models are called over HTTP, with keys in its store and in its environment. */
export type WiredFixture = HomeFixture & {
  clock: JumpingClock
  addKey(request: Partial<AddCredentialRequest> & { provider: string; secret: string }): Promise<CredentialId>
  failures(runId: RunId): Promise<AttemptFailed[]>
  /** Each failure with its remedy, as `kind → remedy`. */
  story(runId: RunId): Promise<string[]>
  /** The texts of the model in the history. */
  answers(): Promise<string[]>
  cooldowns(): Promise<Cooldown[]>
  /** The pool of the current process. */
  pool(): CredentialPool
}

export async function openWiredFixture(context: TestContext, options: WiredFixtureOptions): Promise<WiredFixture> {
  const { chain, providers: wishes, environment = {}, others, longestJumpMs, strategies, flows, ...more } = options
  const [model, ...fallback] = chain
  const clock = newJumpingClock(longestJumpMs)
  let made: Record<string, ModelProvider> = {}
  let pool: CredentialPool | undefined

  const fixture = await openHomeFixture(context, {
    ...more,
    clock,
    model,
    fallback,
    providers: () => {
      made = { ...newProviderSet(wishes, { environment, clock }).providers, ...others?.() }
      return made
    },
    credentials: ({ store, clock: processClock, home }) => {
      const { keyVariables } = newProviderSet(wishes, { environment, clock })
      const report = (fault: unknown) => void fixture?.faults.push(fault)
      pool = newCredentialPool({
        organizationId: DEFAULT_ORGANIZATION,
        store,
        box: openSecretKeys(home).box,
        clock: processClock,
        report,
        randomness: realRandomness,
        environment: environmentSources(environment, keyVariables, report),
        ...defined({ strategies, flows }),
      })
      return pool
    },
  })

  /** As the kernel does for a process that has ended. */
  const hangUp = () => Promise.allSettled(Object.values(made).map((provider) => provider.renewConnections?.()))
  context.after(hangUp)
  const contextOf = () => ({ ...fixture.context, credentialAdmin: pool! })
  const failures = async (runId: RunId) =>
    (await fixture.events(runId)).filter((event): event is AttemptFailed => event.type === 'attempt-failed')

  const { crash, restart } = fixture
  return Object.assign(fixture, {
    clock,
    pool: () => pool!,
    async crash() {
      await crash()
      await hangUp()
    },
    async restart() {
      await crash()
      await hangUp()
      await restart()
    },
    addKey: async (request: Partial<AddCredentialRequest> & { provider: string; secret: string }) =>
      (await addCredential({ label: request.secret, ...request }, contextOf())).id,
    failures,
    story: async (runId: RunId) => (await failures(runId)).map(({ failure, remedy }) => `${failure.kind} → ${remedy}`),
    answers: async () => answersIn((await fixture.messages()).map(({ body }) => body)),
    cooldowns: () => listCooldowns(contextOf()),
  })
}

export const answersIn = (bodies: readonly MessageBody[]): string[] =>
  bodies.flatMap((body) => (body.role === 'assistant' ? [textOf(body.content)] : []))
