import type { StepId } from '../core/id.ts'
import type { StepRating, StoredStep } from '../ports/store.ts'
import type { Desk } from './desk.ts'

/** Keeps what a person thought of a step, in the place of what was thought before. */
export const rateStep = (
  id: StepId,
  rating: StepRating,
  { world, organizationId }: Desk,
): Promise<StoredStep | undefined> => world.store.runs.rateStep(organizationId, id, rating)
