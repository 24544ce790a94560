import { z } from 'zod'

export const createdAgentSchema = z.lazy(() => z.object({ id: z.string(), name: z.string() }))

export const sentSchema = z.lazy(() =>
  z.object({
    type: z
      .enum(['opened', 'steered', 'repeated'])
      .describe('`opened` made a run, `steered` joined one that runs, `repeated` was sent before.'),
    run_id: z.string().describe('Run that reads the message.'),
  }),
)
