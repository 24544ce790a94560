import { z } from 'zod'

export const compactedSchema = z.lazy(() =>
  z
    .object({
      summary: z.string().describe('Text that replaces the earlier messages.'),
      num_messages_before: z.int().describe('Messages in the context before, the system prompt included.'),
      num_messages_after: z.int().describe('Messages in the context after, the system prompt included.'),
    })
    .meta({ id: 'Compacted', description: 'What compaction did to a conversation.' }),
)
