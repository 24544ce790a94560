import { z } from 'zod'

export const itemSchema = z.lazy(() =>
  z
    .object({ id: z.string(), type: z.string() })
    .loose()
    .meta({ id: 'OpenaiItem', description: 'A message, a call or the result of one, as OpenAI’s API shows it.' }),
)

export type WireItem = z.output<typeof itemSchema>

export const itemListSchema = z.lazy(() =>
  z.object({
    object: z.literal('list'),
    data: z.array(itemSchema),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  }),
)
