import type { StepId } from '../core/id.ts'
import type { Message } from '../core/message.ts'
import { foldTurn } from '../core/turn.ts'
import type { RunPage, StepFilter, StoredStep } from '../ports/store.ts'
import type { Desk } from './desk.ts'

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
