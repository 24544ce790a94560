import { defined } from '../../core/defined.ts'
import type { LoggedEvent } from '../../core/event.ts'
import type { StepId } from '../../core/id.ts'
import type { Message } from '../../core/message.ts'
import { foldTurn } from '../../core/turn.ts'
import type { RunPage, StepFilter, StepRating, StoredStep } from '../../ports/store.ts'
import type { ServiceContext } from '../service-context.ts'

export const listSteps = (
  filter: StepFilter,
  page: RunPage,
  { deps, organizationId }: ServiceContext,
): Promise<StoredStep[]> => deps.store.runs.listSteps(organizationId, filter, page)

export const findStep = (id: StepId, { deps, organizationId }: ServiceContext): Promise<StoredStep | undefined> =>
  deps.store.runs.getStep(organizationId, id)

/** The answer of a step and the results of its calls, which a continuing run may have written. */
export async function messagesOfStep({ id, runId }: StoredStep, { deps }: ServiceContext): Promise<Message[]> {
  const { store } = deps
  const events = (await store.events.read(runId, 0)).map(({ event }) => event)
  const { continuedBy } = foldTurn(events)
  const own = await store.messages.ofRun(runId)
  const later = continuedBy ? await store.messages.ofRun(continuedBy) : []
  return [...own, ...later].filter(({ stepId }) => stepId === id)
}

/** The start of a step and the durations of its parts, in milliseconds. */
export type StepTimes = { startedAt: number; modelMs: number; toolsMs?: number; totalMs: number }

/** From the event log: a step starts at the end of the step before it, so failed attempts count. */
export async function measureStep({ id, runId }: StoredStep, { deps }: ServiceContext): Promise<StepTimes | undefined> {
  return timesOf(id, await deps.store.events.read(runId, 0))
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
    ...defined({ toolsMs: began && ended ? ended.at - began.at : undefined }),
  }
}

/** Replaces the user's rating of a step. */
export const rateStep = (
  id: StepId,
  rating: StepRating,
  { deps, organizationId }: ServiceContext,
): Promise<StoredStep | undefined> => deps.store.runs.rateStep(organizationId, id, rating)
