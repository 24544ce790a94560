import { z } from 'zod'
import type { JsonObject } from '../../core/json.ts'
import { Problem } from '../../core/problem.ts'
import type { StoredTool } from '../../core/stored-tool.ts'
import { searchTools } from '../../service/tools/search-tools.ts'
import {
  createTool,
  deleteTool,
  listTools,
  type NewTool,
  requireTool,
  type ToolChange,
  updateTool,
  upsertTool,
} from '../../service/tools/tools.ts'
import type { Routes } from '../routes.ts'
import { refuse } from './errors.ts'
import { listQuery, paged } from './list-query.ts'
import { flag, idIn, parsed, texts } from './parse.ts'
import { record } from './wire/block.ts'
import { wireTool } from './wire/tool.ts'

const FIELDS = {
  source_type: z.enum(['python', 'typescript', 'json']).nullish(),
  description: z.string().nullish(),
  json_schema: record.nullish(),
  args_json_schema: record.nullish(),
  tags: z.array(z.string()).nullish(),
  return_char_limit: z.number().int().min(1).max(1_000_000).nullish(),
  default_requires_approval: z.boolean().nullish(),
  enable_parallel_execution: z.boolean().nullish(),
  pip_requirements: z.array(record).nullish(),
  npm_requirements: z.array(record).nullish(),
  metadata_: record.nullish(),
}

const newToolBody = z.object({ source_code: z.string().min(1), ...FIELDS })
const toolChangeBody = z.object({ source_code: z.string().min(1).nullish(), ...FIELDS })

const toolListQuery = listQuery().extend({
  name: z.string().optional(),
  names: texts.optional(),
  tool_ids: texts.optional(),
  search: z.string().optional(),
  tool_types: texts.optional(),
  exclude_tool_types: texts.optional(),
  return_only_letta_tools: flag.optional(),
})

export function registerToolRoutes(routes: Routes): void {
  routes.post(
    '/v1/tools',
    async ({ body }, desk) =>
      wireTool(await refusing(createTool(wishOf(parsed(newToolBody, body, 'body')) as NewTool, desk))),
    { body: newToolBody },
  )

  routes.put(
    '/v1/tools',
    async ({ body }, desk) =>
      wireTool(await refusing(upsertTool(wishOf(parsed(newToolBody, body, 'body')) as NewTool, desk))),
    { body: newToolBody },
  )

  routes.get(
    '/v1/tools',
    async ({ query }, desk) => {
      const asked = parsed(toolListQuery, query, 'query')
      const tools = (await listTools(desk)).filter((tool) => isWanted(tool, asked))
      return paged(tools, asked).map(wireTool)
    },
    { query: toolListQuery },
  )

  routes.get('/v1/tools/count', async (_, desk) => (await listTools(desk)).length)

  routes.post(
    '/v1/tools/search',
    async ({ body }, desk) => {
      const asked = parsed(searchBody, body, 'body')
      const tools = await searchTools(
        {
          ...(asked.query ? { query: asked.query } : {}),
          ...(asked.tags ? { tags: asked.tags } : {}),
          ...(asked.tool_types ? { toolTypes: asked.tool_types } : {}),
          limit: asked.limit,
        },
        desk,
      )
      return tools.map((tool, index) => ({
        ...{ tool: wireTool(tool), combined_score: 1 / (index + 1), embedded_text: null },
        ...{ fts_rank: index + 1, vector_rank: null },
      }))
    },
    { body: searchBody },
  )

  routes.get('/v1/tools/:tool_id', async ({ params }, desk) => wireTool(await requireTool(idIn.tool(params), desk)))

  routes.patch(
    '/v1/tools/:tool_id',
    async ({ params, body }, desk) =>
      wireTool(await refusing(updateTool(idIn.tool(params), wishOf(parsed(toolChangeBody, body, 'body')), desk))),
    { body: toolChangeBody },
  )

  routes.delete('/v1/tools/:tool_id', async ({ params }, desk, reply) => {
    await refusing(deleteTool(idIn.tool(params), desk))
    return reply.type('application/json').send('null')
  })
}

const searchBody = z.object({
  query: z.string().nullish(),
  limit: z.number().int().min(1).max(100).default(50),
  tags: z.array(z.string()).nullish(),
  tool_types: z.array(z.string()).nullish(),
})

/** What is wrong with a tool's source has always been a 400 here. */
async function refusing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (fault) {
    if (fault instanceof Problem && fault.kind === 'invalid') throw refuse(400, `INVALID_ARGUMENT: ${fault.message}`)
    throw fault
  }
}

function wishOf(body: z.output<typeof toolChangeBody>): ToolChange {
  const { pip_requirements, npm_requirements, metadata_ } = body
  const wire = present({ pip_requirements, npm_requirements, metadata_ }) as JsonObject
  return present({
    ...{ sourceCode: body.source_code, sourceType: body.source_type, description: body.description },
    ...{ jsonSchema: body.json_schema, argsSchema: body.args_json_schema, tags: body.tags },
    ...{ returnCharLimit: body.return_char_limit, needsApproval: body.default_requires_approval },
    ...{ parallel: body.enable_parallel_execution, wire: Object.keys(wire).length > 0 ? wire : undefined },
  })
}

const present = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined))

type Wanted = Partial<
  Pick<
    z.output<typeof toolListQuery>,
    'name' | 'names' | 'tool_ids' | 'search' | 'tool_types' | 'exclude_tool_types' | 'return_only_letta_tools'
  >
>

function isWanted(tool: StoredTool, asked: Wanted): boolean {
  const words = asked.search?.toLowerCase()
  if (asked.name !== undefined && tool.name !== asked.name) return false
  if (asked.names && !asked.names.includes(tool.name)) return false
  if (asked.tool_ids && !asked.tool_ids.includes(tool.id)) return false
  if (words && !`${tool.name} ${tool.description}`.toLowerCase().includes(words)) return false
  if (asked.tool_types && !asked.tool_types.includes(tool.toolType)) return false
  if (asked.exclude_tool_types?.includes(tool.toolType)) return false
  return !(asked.return_only_letta_tools && tool.toolType === 'custom')
}
