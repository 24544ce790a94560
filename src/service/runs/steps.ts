import type { LoggedEvent } from '../../core/event.ts'
import type { StepId } from '../../core/id.ts'
import type { Message } from '../../core/message.ts'
import { foldTurn } from '../../core/turn.ts'
import type { RunPage, StepFilter, StepRating, StoredStep } from '../../ports/store.ts'
import type { Desk } from '../desk.ts'

export const listSteps = (filter: StepFilter, page: RunPage, { world, organizationId }: Desk): Promise<StoredStep[]> =>
  world.store.runs.listSteps(organizationId, filter, page)

export const findStep = (id: StepId, { world, organizationId }: Desk): Promise<StoredStep | undefined> =>
  world.store.runs.getStep(organizationId, id)

/** The answer of a step and what its calls brought, which a continuing run may have written. */
export async function messagesOfStep({ id, runId }: StoredStep, { world }: Desk): Promise<Message[]> {
  const { store } = world
  const events = (await store.events.read(runId, 0)).map(({ event }) => event)
  const { continuedBy } = foldTurn(events)
  const own = await store.messages.ofRun(runId)
  const later = continuedBy ? await store.messages.ofRun(continuedBy) : []
  return [...own, ...later].filter(({ stepId }) => stepId === id)
}

/** When a step began and how long its parts took, in milliseconds. */
export type StepTimes = { startedAt: number; modelMs: number; toolsMs?: number; totalMs: number }

/** From the log of its run: a step begins where what was before it ended, failed attempts included. */
export async function measureStep({ id, runId }: StoredStep, { world }: Desk): Promise<StepTimes | undefined> {
  return timesOf(id, await world.store.events.read(runId, 0))
}

function timesOf(stepId: string, events: readonly LoggedEvent[]): StepTimes | undefined {
  const index = events.findIndex(({ event }) => 'stepId' in event && event.stepId === stepId)
  const answer = events[index]
  if (!answer) return undefined
  const before = events.slice(0, index).findLast(({ event }) => event.type !== 'attempt-failed')
  const startedAt = before?.at ?? answer.at
  const calls = answer.event.type === 'answer-received' ? answer.event.calls.map(({ callId }) => callId) : []
  const ended = events.findLast(({ event }) => event.type === 'tool-ended' && calls.includes(event.outcome.callId))
  const began = events.find(({ event }) => event.type === 'tool-started' && calls.includes(event.callId))
  return {
    startedAt,
    modelMs: answer.at - startedAt,
    totalMs: (ended ?? answer).at - startedAt,
    ...(began && ended ? { toolsMs: ended.at - began.at } : {}),
  }
}

/** Keeps what a person thought of a step, in the place of what was thought before. */
export const rateStep = (
  id: StepId,
  rating: StepRating,
  { world, organizationId }: Desk,
): Promise<StoredStep | undefined> => world.store.runs.rateStep(organizationId, id, rating)
