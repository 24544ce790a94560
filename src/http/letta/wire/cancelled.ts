import { z } from 'zod'

export const cancelledSchema = z
  .record(z.string(), z.enum(['cancelled', 'failed']))
  .describe('For each run id, whether the run was cancelled; `failed` if it had ended before.')
