import { z } from 'zod'

export const createdAgentSchema = z.lazy(() => z.object({ id: z.string(), name: z.string() }))

export const sentSchema = z.lazy(() =>
  z.object({
    type: z
      .enum(['opened', 'steered', 'repeated'])
      .describe(
        '`opened` created a run, `steered` joined a running one, whose settings stay, `repeated` was sent before.',
      ),
    run_id: z.string().describe('Run that reads the message.'),
    request: z
      .string()
      .describe('Id of this request. It becomes a run if the one that was joined ends without reading the message.'),
    queued: z.boolean().describe('Whether that run waits for another one.'),
  }),
)
