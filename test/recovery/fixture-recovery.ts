import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { defined } from '../../src/core/defined.ts'
import type { Message } from '../../src/core/message.ts'
import type { Run } from '../../src/core/run.ts'
import { findVendor } from '../../src/providers/vendors.ts'
import { listMessages } from '../../src/service/messages/messages.ts'
import type { SendMessageRequest } from '../../src/service/messages/send-message.ts'
import type { RequestRecord } from '../../src/simulator/recorder.ts'
import type { Script } from '../../src/simulator/script.ts'
import type { Simulator, SimulatorOptions } from '../../src/simulator/start-simulator.ts'
import {
  type AttemptFailed,
  openWiredFixture,
  type WiredFixture,
  type WiredFixtureOptions,
} from '../harness/fixture-wired.ts'
import { simulatorFixture } from '../simulator/fixture-simulator.ts'

export type RecoveryFixture = { fixture: WiredFixture; simulator: Simulator }

export type RecoveryFixtureOptions = Partial<WiredFixtureOptions> & { script?: Script; keys?: SimulatorOptions['keys'] }

/** One simulator that serves every provider in the options, each below the path of its protocol. */
export async function openRecoveryFixture(
  context: TestContext,
  options: RecoveryFixtureOptions = {},
): Promise<RecoveryFixture> {
  const { script = [], keys, chain = ['openai/m'], providers = {}, environment = {}, ...more } = options
  const simulator = await simulatorFixture(context, { script, ...defined({ keys }) })
  const names = chain.map((handle) => handle.split('/')[0]!).filter(findVendor)
  const baseUrls = Object.fromEntries(names.map((name) => [name, { base_url: simulator.url + pathOf(name) }]))
  for (const name of names) giveKey(name, environment)
  const fixture = await openWiredFixture(context, {
    chain,
    providers: { ...baseUrls, ...providers },
    environment,
    ...more,
  })
  return { fixture, simulator }
}

/** Sets a key for a provider that needs one, unless the test sets its own. */
function giveKey(name: string, environment: NonNullable<RecoveryFixtureOptions['environment']>): void {
  const { needsKey, keyVariables } = findVendor(name)!
  const [variable] = keyVariables
  if (needsKey && variable && !(variable in environment)) environment[variable] = `key-of-${name}`
}

const pathOf = (provider: string): string => (provider === 'anthropic' || provider === 'gemini' ? '' : '/v1')

/** One turn with everything it stored and sent. */
export type ExchangeResult = {
  run: Run
  story: string[]
  failures: AttemptFailed[]
  /** The requests that the simulator received during the turn. */
  sent: RequestRecord[]
  before: Message[]
  after: Message[]
}

export async function exchange(
  { fixture, simulator }: RecoveryFixture,
  text: string,
  more: Partial<SendMessageRequest> = {},
): Promise<ExchangeResult> {
  const before = await allMessages(fixture)
  const seen = simulator.requests.length
  const run = await fixture.ask(text, more)
  return {
    run,
    story: await fixture.story(run.id),
    failures: await fixture.failures(run.id),
    sent: simulator.requests.slice(seen),
    before,
    after: await allMessages(fixture),
  }
}

export const allMessages = ({ conversationId, context: serviceContext }: WiredFixture): Promise<Message[]> =>
  listMessages(conversationId, { take: 'newest', limit: 200 }, serviceContext)

/** Asserts the answer's text, the failures before it, and that earlier messages are unchanged. */
export function assertAnswered(
  { run, story, before, after }: ExchangeResult,
  text: string,
  expected: readonly string[],
): void {
  assert.equal(run.stopReason, 'end_turn', `${story.join(', ')}; ${JSON.stringify(run.error)}`)
  assert.deepEqual(story, expected)
  assert.deepEqual(after.slice(0, before.length), before, 'earlier messages are unchanged')
  const last = after.at(-1)?.body
  assert.ok(last?.role === 'assistant')
  assert.deepEqual(
    last.content.filter((part) => part.type === 'text'),
    [{ type: 'text', text }],
  )
}

/** Asserts that exactly one question and one answer were added. */
export function assertOneExchange({ before, after }: ExchangeResult): void {
  assert.deepEqual(
    after.slice(before.length).map(({ body }) => body.role),
    ['user', 'assistant'],
  )
}

export const bodyText = (request: RequestRecord | undefined): string => JSON.stringify(request?.body)
export const keysOf = (sent: readonly RequestRecord[]): (string | undefined)[] => sent.map(({ key }) => key)
export const modelsOf = (sent: readonly RequestRecord[]): string[] => sent.map(({ model }) => model)
