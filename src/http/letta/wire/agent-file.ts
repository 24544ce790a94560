import { z } from 'zod'
import { dateSchema } from '../../wire-date.ts'
import { blockSchema } from './block.ts'
import { alwaysEmpty } from './constant-field.ts'
import { toolSchema } from './tool.ts'

export const agentFileSchema = z
  .looseObject({
    agents: z
      .array(
        z.looseObject({
          id: z.string(),
          name: z.string(),
          tool_ids: z.array(z.string()).describe('Tools of the agent, by their ids in the file.'),
          block_ids: z.array(z.string()).describe('Blocks of the agent, by their ids in the file.'),
          in_context_message_ids: z.array(z.string()).describe('Messages in the context, by their ids in the file.'),
          messages: z.array(z.looseObject({ id: z.string(), role: z.string() })),
        }),
      )
      .describe('One agent with its settings, messages and passages. Secrets are named without their values.'),
    blocks: z.array(blockSchema).describe('Blocks of the agent, with ids that are local to the file.'),
    tools: z.array(toolSchema).describe('Tools of the agent, with ids that are local to the file.'),
    groups: alwaysEmpty,
    files: alwaysEmpty,
    sources: alwaysEmpty,
    mcp_servers: alwaysEmpty,
    metadata: z.object({}).describe('Always {}: kept for clients that read it.'),
    created_at: dateSchema,
  })
  .meta({ id: 'AgentFile', description: 'An agent with its memory and history, to keep or to import elsewhere.' })

export const importedSchema = z.lazy(() =>
  z.object({
    agent_ids: z.array(z.string()).describe('Ids of the imported agents.'),
  }),
)
