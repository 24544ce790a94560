import { z } from 'zod'

export const chunkSchema = z.lazy(() =>
  z
    .object({
      number: z.int().describe('Number of the chunk in the stream, for `starting_after`.'),
      event: z.int().describe('Number of the event that the chunk belongs to; 0 for none.'),
      chunk: z.looseObject({ message_type: z.string() }),
    })
    .meta({ id: 'Chunk', description: 'One piece of the stream of a run as it is stored.' }),
)
