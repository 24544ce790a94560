import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Block } from '../../src/core/block.ts'
import type { TurnEvent } from '../../src/core/event.ts'
import type { AgentId, ConversationId, MessageId, OrganizationId, RunId, StepId, WorkerId } from '../../src/core/id.ts'
import type { Change, ProjectedEvent, RunChange } from '../../src/core/projection.ts'
import type { Run, RunSettings } from '../../src/core/run.ts'
import type { Append, Claim, NewRun, OpenedRun, OpenRun, Store } from '../../src/ports/store.ts'
import type { OpenedStore } from '../../src/storage/store.ts'

/** A fresh database for one test. */
export type StorageFixture = OpenedStore & {
  /** Another process on the same database. */
  another(): Promise<OpenedStore>
}

export const ORGANIZATION: OrganizationId = 'org-11111111-1111-4111-8111-111111111111'
export const OTHER_ORGANIZATION: OrganizationId = 'org-22222222-2222-4222-8222-222222222222'
export const AT = Date.UTC(2026, 0, 1)

export const newId = {
  agent: (): AgentId => `agent-${randomUUID()}`,
  conversation: (): ConversationId => `conv-${randomUUID()}`,
  run: (): RunId => `run-${randomUUID()}`,
  step: (): StepId => `step-${randomUUID()}`,
  message: (): MessageId => `message-${randomUUID()}`,
  worker: (): WorkerId => `worker-${randomUUID()}`,
}

export const newBlock = (label: string, more: Partial<Block> = {}): Block => ({
  id: `block-${randomUUID()}`,
  organizationId: ORGANIZATION,
  label,
  value: `about ${label}`,
  limit: 100,
  readOnly: false,
  tags: [],
  metadata: {},
  isTemplate: false,
  version: 1,
  createdAt: AT,
  updatedAt: AT,
  ...more,
})

export type AgentConversation = { agentId: AgentId; conversationId: ConversationId }

export async function createAgent(store: Store, organizationId = ORGANIZATION): Promise<AgentConversation> {
  const agentId = newId.agent()
  const conversationId = newId.conversation()
  const agent = {
    id: agentId,
    organizationId,
    name: 'keeper',
    system: 'You keep things.',
    model: 'test/model' as const,
    fallback: [],
    tools: ['note'],
    createdAt: AT,
    updatedAt: AT,
  }
  await store.agents.create(agent, conversationId)
  return { agentId, conversationId }
}

const SETTINGS: RunSettings = {
  targets: ['test/model'],
  maxSteps: 10,
  maxDurationMs: 60_000,
  streamTokens: false,
  onGuarded: 'ask',
  approvalTtlMs: 1_000,
}

export const accepted: TurnEvent = { type: 'input-accepted', v: 1, inputs: [], settings: SETTINGS }
export const steered: TurnEvent = { type: 'input-steered', v: 1, inputs: [] }
export const cancelled: TurnEvent = { type: 'cancel-requested', v: 1, cause: 'person' }
export const ended: TurnEvent = { type: 'turn-ended', v: 1, stopReason: 'end_turn' }
export const fault = (detail: string): TurnEvent => ({ type: 'fault-met', v: 1, detail })

export const entry = (event: TurnEvent, ...changes: Change[]): ProjectedEvent => ({ event, at: AT, changes })

export const says = (runId: RunId, text: string): Change => ({
  type: 'add-message',
  message: { id: newId.message(), runId, body: { role: 'user', content: [{ type: 'text', text }] }, createdAt: AT },
})

export const changes = (change: RunChange): Change => ({ type: 'change-run', change })

export const completes = changes({ status: 'completed', stopReason: 'end_turn', completedAt: AT, releaseLease: true })
export const waits = changes({
  status: 'completed',
  waiting: true,
  stopReason: 'requires_approval',
  completedAt: AT,
  expiresAt: AT + 1_000,
  releaseLease: true,
})

export function newRun(agent: AgentConversation, more: Partial<NewRun> = {}): NewRun {
  const createdAt = AT
  return {
    id: newId.run(),
    organizationId: ORGANIZATION,
    ...agent,
    background: false,
    createdAt,
    metadata: {},
    ...more,
  }
}

export function openRun(
  agent: AgentConversation,
  more: Partial<Omit<OpenRun, 'run'>> & { run?: Partial<NewRun> } = {},
): OpenRun {
  const { run, ...rest } = more
  return {
    run: newRun(agent, run),
    entry: entry(accepted),
    policy: 'queue',
    interruption: entry(cancelled),
    steering: entry(steered),
    ...rest,
  }
}

export function requireOpened(opened: OpenedRun): Run {
  assert.equal(opened.type, 'opened')
  return (opened as Extract<OpenedRun, { type: 'opened' }>).run
}

/** A running run, held by a live worker. */
export async function createRunningRun(
  store: Store,
  agent: AgentConversation,
  workerId = newId.worker(),
): Promise<Run> {
  await store.workers.beat(workerId, 60_000)
  return requireOpened(await store.runs.open(openRun(agent, { claimFor: workerId })))
}

export async function createWaitingRun(store: Store, agent: AgentConversation): Promise<Run> {
  const run = await createRunningRun(store, agent)
  const end: TurnEvent = { type: 'turn-ended', v: 1, stopReason: 'requires_approval' }
  await store.events.append(asHolder(run, { intents: [entry(end, waits)] }))
  return (await store.runs.get(ORGANIZATION, run.id))!
}

export function asHolder(run: Run, more: Partial<Append> = {}): Append {
  const writer = { type: 'holder' as const, fence: run.fence }
  return { runId: run.id, commitId: randomUUID(), writer, seen: run.nextSeq, facts: [], intents: [], ...more }
}

export function asGuest(run: Run, phases: Run['status'][] | ['waiting'], more: Partial<Append> = {}): Append {
  return { ...asHolder(run, more), writer: { type: 'guest', phases: [...phases] } }
}

/** The next run in the queue; undefined also if every queued run is blocked. */
export async function claimNext(store: Store, workerId = newId.worker()): Promise<Claim | undefined> {
  const claim = await store.runs.claimNext(workerId)
  return claim === 'blocked' ? undefined : claim
}

export async function finish(store: Store, run: Run): Promise<void> {
  const events = await store.events.read(run.id, 0)
  const appended = await store.events.append(
    asHolder(run, { seen: events.length + 1, intents: [entry(ended, completes)] }),
  )
  assert.equal(appended.type, 'appended')
}

export const typesOf = (events: { event: TurnEvent }[]): string[] => events.map(({ event }) => event.type)

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}
