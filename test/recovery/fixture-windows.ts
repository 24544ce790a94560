import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { sha256 } from '../../src/config/sha256.ts'
import type { TurnEvent } from '../../src/core/event.ts'
import { type MessageBody, type NewMessage, NO_RUN } from '../../src/core/message.ts'
import type { Tool } from '../../src/ports/tool.ts'
import type { RequestRecord } from '../../src/simulator/recorder.ts'
import type { Rule } from '../../src/simulator/script.ts'
import type { HomeFixture } from '../harness/fixture-home.ts'
import { simulatorFixture } from '../simulator/fixture-simulator.ts'
import { openRecoveryFixture, type RecoveryFixture, type RecoveryFixtureOptions } from './fixture-recovery.ts'

/** A model whose window is 8,000 tokens of four characters, which it does not state. */
export const SMALL_BYTES = 32_000

export const SUMMARY: Rule = {
  when: { contains: 'Summarize the conversation' },
  answer: { text: 'A summary.', usage: 'none' },
}

export const tooLong = (model: string, limit?: number): Rule => ({
  when: { model, bytesAbove: SMALL_BYTES },
  answer: limit === undefined ? { error: 'context-overflow' } : { error: 'context-overflow-with-window', limit },
})

export const bytesOf = ({ body }: RequestRecord): number => Buffer.byteLength(JSON.stringify(body))

export const isSummaryRequest = (request: RequestRecord): boolean =>
  JSON.stringify(request.body).includes('Summarize the conversation')

/** Every request to this model fits its window. */
export function assertAllFit(requests: readonly RequestRecord[], model: string): void {
  for (const request of requests)
    if (request.model === model)
      assert.ok(
        bytesOf(request) <= SMALL_BYTES,
        `a request of ${bytesOf(request)} bytes for a window of ${SMALL_BYTES}`,
      )
}

/** No request is sent a second time as it is. */
export function assertNoRepetition(requests: readonly RequestRecord[]): void {
  const bodies = requests.map(({ model, body }) => sha256(JSON.stringify([model, body])))
  assert.equal(new Set(bodies).size, bodies.length, 'the same request was sent twice')
}

export const eventsOfType = <Type extends TurnEvent['type']>(events: readonly TurnEvent[], type: Type) =>
  events.filter((event): event is Extract<TurnEvent, { type: Type }> => event.type === type)

type WindowsFixtureOptions = {
  chain: NonNullable<RecoveryFixtureOptions['chain']>
  /** Known windows by model; a model without one states none. */
  windows?: Record<string, number>
  script: Rule[]
  tools?: Tool[]
}

/** Providers at one simulator, with the windows of their models. */
export async function openWindowsFixture(
  context: TestContext,
  { chain, windows = {}, script, tools = [] }: WindowsFixtureOptions,
): Promise<RecoveryFixture> {
  const simulator = await simulatorFixture(context, { script })
  const { fixture } = await openRecoveryFixture(context, {
    chain,
    tools,
    providers: {
      custom: { base_url: `${simulator.url}/v1`, windows },
      openai: { base_url: `${simulator.url}/other/v1`, windows },
    },
  })
  return { fixture, simulator }
}

/** Gives the fixture's home an agent with these messages, as an import does, and asks it one question. */
export async function importConversation(
  { context, agent }: HomeFixture,
  bodies: readonly MessageBody[],
): Promise<{ agent: HomeFixture['agent']; conversationId: HomeFixture['conversationId'] }> {
  const { store, randomness } = context.deps
  const imported = { ...agent, id: `agent-${randomness.uuid()}` as const, name: 'imported' }
  const conversationId = `conv-${randomness.uuid()}` as const
  const messages = bodies.map(
    (body): NewMessage => ({ id: `message-${randomness.uuid()}`, runId: NO_RUN, body, createdAt: 0 }),
  )
  await store.agents.create(imported, conversationId, { messages })
  return { agent: imported, conversationId }
}

export const exchangeOf = (question: string, answer: string): MessageBody[] => [
  { role: 'user', content: [{ type: 'text', text: question }] },
  { role: 'assistant', content: [{ type: 'text', text: answer }], calls: [] },
]
