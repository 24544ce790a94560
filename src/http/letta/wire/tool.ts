import { z } from 'zod'
import { SOURCE_EFFECTS, type StoredTool } from '../../../core/stored-tool.ts'
import { alwaysNull } from './constant-field.ts'
import { storedJson, storedObject } from './stored-json.ts'

export const toolSchema = z.lazy(() =>
  z
    .object({
      id: z.string(),
      name: z.string().describe('Name the model calls the tool by.'),
      description: z.string().describe('What the model reads about the tool.'),
      tool_type: z.string().describe('Where the tool comes from: `custom` source, an MCP server, or Holdfast itself.'),
      source_type: z.string().describe('Language of the source.'),
      source_code: z.string().nullable().describe('Source of the tool; null for tools without one.'),
      json_schema: storedObject.describe('Function definition that the model reads: name, description, parameters.'),
      args_json_schema: storedObject.nullable().describe('JSON Schema of the arguments, where it was sent apart.'),
      tags: z.array(z.string()),
      return_char_limit: z.int().describe('Maximum number of characters of a result that the model reads.'),
      default_requires_approval: z.boolean().describe('Whether calls need approval, unless the agent says otherwise.'),
      enable_parallel_execution: z.boolean().describe('Whether calls of one step can run at the same time.'),
      pip_requirements: storedJson.describe('Python packages as they were sent; null when none were.'),
      npm_requirements: storedJson.describe('npm packages as they were sent; null when none were.'),
      effects: z
        .enum(SOURCE_EFFECTS)
        .nullable()
        .describe('What a second execution of the source would mean; null for tools without one.'),
      egress: z.array(z.string()).describe('Domains that the source may reach. Only Holdfast has this field.'),
      metadata_: storedJson.describe('Data of the application, or the MCP server a tool comes from.'),
      project_id: alwaysNull,
      created_by_id: alwaysNull,
      last_updated_by_id: alwaysNull,
    })
    .meta({ id: 'Tool', description: 'A tool that agents can use.' }),
)

type WireTool = z.output<typeof toolSchema>

export const wireTool = (tool: StoredTool): WireTool => ({
  id: tool.id,
  name: tool.name,
  description: tool.description,
  tool_type: tool.toolType,
  source_type: tool.sourceType,
  source_code: tool.sourceCode || null,
  json_schema: tool.jsonSchema,
  args_json_schema: tool.argsSchema ?? null,
  tags: tool.tags,
  return_char_limit: tool.returnCharLimit,
  default_requires_approval: tool.needsApproval,
  enable_parallel_execution: tool.parallel,
  pip_requirements: tool.wire.pip_requirements ?? null,
  npm_requirements: tool.wire.npm_requirements ?? null,
  effects: tool.sourceCode ? (tool.effects ?? 'once') : null,
  egress: tool.egress ?? [],
  metadata_: tool.wire.metadata_ ?? {},
  project_id: null,
  created_by_id: null,
  last_updated_by_id: null,
})

const foundToolSchema = z.lazy(() =>
  z.object({
    tool: toolSchema,
    combined_score: z.number().describe('1 for the best tool, 1/2 for the second, and so on.'),
    embedded_text: alwaysNull,
    fts_rank: z.int().describe('Rank by words, from 1.'),
    vector_rank: alwaysNull,
  }),
)

export const toolSearchSchema = z.lazy(() => z.array(foundToolSchema).describe('Tools that match, the best first.'))

export const wireFoundTool = (tool: StoredTool, index: number): z.output<typeof foundToolSchema> => ({
  tool: wireTool(tool),
  combined_score: 1 / (index + 1),
  embedded_text: null,
  fts_rank: index + 1,
  vector_rank: null,
})
