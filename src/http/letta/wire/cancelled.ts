import { z } from 'zod'

export const cancelledSchema = z
  .record(z.string(), z.enum(['cancelled', 'failed']))
  .describe('For each run by its id, whether it was cancelled; `failed` when it had ended otherwise.')
