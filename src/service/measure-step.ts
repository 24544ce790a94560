import type { LoggedEvent } from '../core/event.ts'
import type { StoredStep } from '../ports/store.ts'
import type { Desk } from './desk.ts'

/** When a step began and how long its parts took, in milliseconds. */
export type StepTimes = { startedAt: number; modelMs: number; toolsMs?: number; totalMs: number }

/** From the log of its run: a step begins where what was before it ended, failed attempts included. */
export async function measureStep({ id, runId }: StoredStep, { world }: Desk): Promise<StepTimes | undefined> {
  return timesOf(id, await world.store.events.read(runId, 0))
}

export function timesOf(stepId: string, events: readonly LoggedEvent[]): StepTimes | undefined {
  const index = events.findIndex(({ event }) => 'stepId' in event && event.stepId === stepId)
  const answer = events[index]
  if (!answer) return undefined
  const before = events.slice(0, index).findLast(({ event }) => event.type !== 'attempt-failed')
  const startedAt = before?.at ?? answer.at
  const calls = answer.event.type === 'answer-received' ? answer.event.calls.map(({ callId }) => callId) : []
  const ended = events.findLast(({ event }) => event.type === 'tool-ended' && calls.includes(event.outcome.callId))
  const began = events.find(({ event }) => event.type === 'tool-started' && calls.includes(event.callId))
  return {
    ...{ startedAt, modelMs: answer.at - startedAt, totalMs: (ended ?? answer).at - startedAt },
    ...(began && ended ? { toolsMs: ended.at - began.at } : {}),
  }
}
