import { z } from 'zod'
import type { LoggedEvent } from '../../../core/event.ts'
import { dateSchema, wireDate } from '../../wire-date.ts'

export const runEventSchema = z.lazy(() =>
  z
    .object({
      seq: z.int().describe('Number of the event in the log of the run.'),
      date: dateSchema,
      at: z.int().describe('The same time in milliseconds since 1970.'),
      event: z.looseObject({ type: z.string().describe('Kind of the event.') }).describe('The event as it is stored.'),
    })
    .meta({ id: 'RunEvent', description: 'One entry of the log of a run.' }),
)

type WireRunEvent = z.output<typeof runEventSchema>

export const wireRunEvent = ({ seq, at, event }: LoggedEvent): WireRunEvent => ({ seq, date: wireDate(at), at, event })
