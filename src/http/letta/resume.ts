import { z } from 'zod'
import { withoutEffect } from '../field-fate.ts'

/** The body of the routes that resume the stream of a run or of a conversation. */
export const resumeBody = z.object({
  agent_id: z.string().nullish().describe('Id of the agent, for the conversation `default`.'),
  run_id: z.string().nullish().describe('Run to stream; for conversations only.'),
  otid: z.string().nullish().describe('otid of the input whose run to stream; for conversations only.'),
  starting_after: z.int().min(0).nullish().describe('`seq_id` of the last event the reader has; 0 is the start.'),
  include_pings: z
    .boolean()
    .nullish()
    .describe('Whether the stream sends `ping` events while it is idle. Default: true.'),
  batch_size: withoutEffect(z.int().nullish(), 'events are sent as they are written.'),
  poll_interval: withoutEffect(z.number().nullish(), 'events are sent as they are written.'),
})

export const resumeOptions = ({ starting_after, include_pings }: z.output<typeof resumeBody>) => ({
  after: starting_after ?? 0,
  pings: include_pings ?? true,
})
