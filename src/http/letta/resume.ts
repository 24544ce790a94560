import { z } from 'zod'

/** Where a reader goes on; the same for the stream of a run and of a conversation. */
export const resumeBody = z.object({
  agent_id: z.string().nullish().describe('The agent whose `default` conversation is meant.'),
  run_id: z.string().nullish().describe('Of a conversation: the run to stream.'),
  otid: z.string().nullish().describe('Of a conversation: the run that was sent this otid.'),
  starting_after: z.int().min(0).nullish().describe('The `seq_id` of the last event the reader has; 0 is the start.'),
  include_pings: z.boolean().nullish().describe('Whether quiet streams carry pings; usually they do.'),
})

export const resumeOptions = ({ starting_after, include_pings }: z.output<typeof resumeBody>) => ({
  after: starting_after ?? 0,
  pings: include_pings ?? true,
})
