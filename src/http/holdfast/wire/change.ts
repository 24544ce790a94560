import { z } from 'zod'
import type { Change } from '../../../core/change.ts'
import { defined } from '../../../core/defined.ts'

const changeSchema = z
  .object({
    kind: z
      .enum([
        'agent',
        'conversation',
        'run',
        'block',
        'tool',
        'mcp_server',
        'schedule',
        'key',
        'user',
        'credential',
        'cooldown',
        'gateway_account',
        'pairing',
      ])
      .describe('What changed. The last six are for keys with the scope "admin".'),
    id: z.string(),
    agent_id: z.string().optional().describe('The agent of a run, a conversation or a schedule.'),
    conversation_id: z.string().optional().describe('The conversation of a run or a schedule.'),
    verb: z.enum(['created', 'changed', 'deleted']),
  })
  .meta({ id: 'Change', description: 'A row that was created, changed or deleted. Fetch it to see its new content.' })

export const changeEventSchema = z.lazy(() =>
  z
    .object({
      position: z.string().describe('Send it as `after` to continue from here.'),
      changes: z.array(changeSchema).optional(),
    })
    .meta({
      id: 'ChangeEvent',
      description:
        'The data of an event. `event: changes` lists changes in the order of their commits; `event: current` says that ' +
        'all earlier ones were sent; `event: reload` says that some are missing: fetch again what you show.',
    }),
)

type WireChange = z.output<typeof changeSchema>

export const wireChange = ({ kind, id, agentId, conversationId, verb }: Change): WireChange => ({
  kind,
  id,
  verb,
  ...defined({ agent_id: agentId, conversation_id: conversationId }),
})
