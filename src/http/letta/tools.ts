import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import type { JsonObject } from '../../core/json.ts'
import { Problem } from '../../core/problem.ts'
import { SOURCE_EFFECTS, type StoredTool } from '../../core/stored-tool.ts'
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
import { flag, record, texts } from '../field.ts'
import { withoutEffect } from '../field-fate.ts'
import { operation } from '../operation.ts'
import { listQuery, paged } from '../paging.ts'
import { egressBody } from './egress-body.ts'
import { toolPath } from './path-params.ts'
import { toolSchema, toolSearchSchema, wireFoundTool, wireTool } from './wire/tool.ts'

const FIELDS = {
  source_type: z
    .enum(['python', 'typescript', 'json'])
    .nullish()
    .describe('Language of the source. Default: `python`.'),
  description: z
    .string()
    .nullish()
    .describe('What the model reads about the tool. Default: the description in the schema or the source.'),
  json_schema: record
    .nullish()
    .describe('Function definition: name, description, parameters. Missing parts are read from the source.'),
  args_json_schema: record
    .nullish()
    .describe('JSON Schema of the arguments; replaces the parameters of `json_schema`.'),
  tags: z.array(z.string()).nullish().describe('Labels to find the tool by.'),
  return_char_limit: z
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .nullish()
    .describe('Maximum number of characters of a result that the model reads.'),
  default_requires_approval: z
    .boolean()
    .nullish()
    .describe('Whether calls need approval, unless the agent says otherwise.'),
  enable_parallel_execution: z.boolean().nullish().describe('Whether calls of one step can run at the same time.'),
  pip_requirements: z
    .array(record)
    .nullish()
    .describe(
      'Python packages that the source imports, `[{name, version}]`. A call names those that are not installed.',
    ),
  npm_requirements: z
    .array(record)
    .nullish()
    .describe('npm packages that the source imports. None can be installed yet: calls of the tool say so.'),
  effects: z
    .enum(SOURCE_EFFECTS)
    .nullish()
    .describe('What a second execution would mean after a crash. Default: `once`. A field of Holdfast.'),
  egress: egressBody('Domains that the source may reach. Default: none.'),
  metadata_: record.nullish().describe('Data of the application, stored as it is sent.'),
}

const source = z.string().min(1)
const SOURCE =
  'Source of the tool. Name and arguments are read from it where no schema is given. Calls run in the sandbox.'

const newToolBody = z.object({ source_code: source.describe(SOURCE), ...FIELDS })
const toolChangeBody = z.object({ source_code: source.nullish().describe(SOURCE), ...FIELDS })

const toolListQuery = listQuery().extend({
  name: z.string().optional().describe('Exact name.'),
  names: texts.optional().describe('Exact names.'),
  tool_ids: texts.optional().describe('Ids of tools.'),
  search: z.string().optional().describe('Text that the name or description contains, in any case.'),
  tool_types: texts.optional().describe('Tool types to list, such as `custom` or `external_mcp`.'),
  exclude_tool_types: texts.optional().describe('Tool types to leave out.'),
  return_only_letta_tools: flag.optional().describe('Whether `custom` tools are left out.'),
})

const searchBody = z.object({
  query: z.string().nullish().describe('Words to search for in names and descriptions. Default: all tools.'),
  limit: z.number().int().min(1).max(100).default(50).describe('Maximum number of results.'),
  tags: z.array(z.string()).nullish().describe('Tags of which the tool has at least one.'),
  tool_types: z.array(z.string()).nullish().describe('Tool types to search.'),
  search_mode: withoutEffect(z.string().nullish(), 'tools are searched by words.', (mode) => mode === 'vector'),
})

const createToolOperation = operation({
  route: 'POST /v1/tools',
  scope: 'tools',
  summary: 'Creates a tool from its source',
  body: newToolBody,
  example: { source_code: 'def double(number: int) -> int:\n    """Doubles a number."""\n    return 2 * number' },
  answer: toolSchema,
  handle: async ({ body }, context) =>
    wireTool(await invalidAsArgument(createTool(toolFrom(body) as NewTool, context))),
})

const upsertToolOperation = operation({
  route: 'PUT /v1/tools',
  scope: 'tools',
  summary: 'Creates a tool, or replaces the tool with the same name',
  body: newToolBody,
  example: { source_code: 'def double(number: int) -> int:\n    """Doubles a number."""\n    return 2 * number' },
  answer: toolSchema,
  handle: async ({ body }, context) =>
    wireTool(await invalidAsArgument(upsertTool(toolFrom(body) as NewTool, context))),
})

const listToolsOperation = operation({
  route: 'GET /v1/tools',
  scope: 'read',
  summary: 'Lists tools',
  query: toolListQuery,
  answer: z.array(toolSchema),
  async handle({ query }, context) {
    const tools = (await listTools(context)).filter((tool) => isWanted(tool, query))
    return paged(tools, query).map(wireTool)
  },
})

const countTools = operation({
  route: 'GET /v1/tools/count',
  scope: 'read',
  summary: 'Counts tools',
  answer: z.int(),
  handle: async (_, context) => (await listTools(context)).length,
})

const searchToolsOperation = operation({
  route: 'POST /v1/tools/search',
  scope: 'read',
  summary: 'Searches tools',
  body: searchBody,
  example: { query: 'search' },
  answer: toolSearchSchema,
  async handle({ body }, context) {
    const tools = await searchTools(
      {
        ...defined({
          query: body.query || undefined,
          tags: body.tags ?? undefined,
          toolTypes: body.tool_types ?? undefined,
        }),
        limit: body.limit,
      },
      context,
    )
    return tools.map(wireFoundTool)
  },
})

const showTool = operation({
  route: 'GET /v1/tools/:tool_id',
  scope: 'read',
  summary: 'Shows a tool',
  params: toolPath,
  answer: toolSchema,
  handle: async ({ params }, context) => wireTool(await requireTool(params.tool_id, context)),
})

const changeTool = operation({
  route: 'PATCH /v1/tools/:tool_id',
  scope: 'tools',
  summary: 'Updates a tool; omitted fields stay unchanged',
  params: toolPath,
  body: toolChangeBody,
  example: { description: 'Doubles a number.' },
  answer: toolSchema,
  handle: async ({ params, body }, context) =>
    wireTool(await invalidAsArgument(updateTool(params.tool_id, toolFrom(body), context))),
})

const removeTool = operation({
  route: 'DELETE /v1/tools/:tool_id',
  scope: 'tools',
  summary: 'Deletes a tool',
  params: toolPath,
  answer: z.null(),
  async handle({ params }, context) {
    await invalidAsArgument(deleteTool(params.tool_id, context))
    return null
  },
})

export const toolOperations = [
  createToolOperation,
  upsertToolOperation,
  listToolsOperation,
  countTools,
  searchToolsOperation,
  showTool,
  changeTool,
  removeTool,
]

/** An invalid tool is a 400 on these routes and not a 422, because clients expect that. */
async function invalidAsArgument<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (fault) {
    if (fault instanceof Problem && fault.kind === 'invalid') throw new Problem('invalid-argument', fault.message)
    throw fault
  }
}

function toolFrom(body: z.output<typeof toolChangeBody>): ToolChange {
  const { pip_requirements, npm_requirements, metadata_ } = body
  const wire = withoutEmpty({ pip_requirements, npm_requirements, metadata_ }) as JsonObject
  return withoutEmpty({
    sourceCode: body.source_code,
    sourceType: body.source_type,
    description: body.description,
    jsonSchema: body.json_schema,
    argsSchema: body.args_json_schema,
    tags: body.tags,
    returnCharLimit: body.return_char_limit,
    needsApproval: body.default_requires_approval,
    parallel: body.enable_parallel_execution,
    effects: body.effects,
    egress: body.egress,
    wire: Object.keys(wire).length > 0 ? wire : undefined,
  })
}

const withoutEmpty = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined))

type ToolListFilter = Partial<
  Pick<
    z.output<typeof toolListQuery>,
    'name' | 'names' | 'tool_ids' | 'search' | 'tool_types' | 'exclude_tool_types' | 'return_only_letta_tools'
  >
>

function isWanted(tool: StoredTool, filter: ToolListFilter): boolean {
  const words = filter.search?.toLowerCase()
  if (filter.name !== undefined && tool.name !== filter.name) return false
  if (filter.names && !filter.names.includes(tool.name)) return false
  if (filter.tool_ids && !filter.tool_ids.includes(tool.id)) return false
  if (words && !`${tool.name} ${tool.description}`.toLowerCase().includes(words)) return false
  if (filter.tool_types && !filter.tool_types.includes(tool.toolType)) return false
  if (filter.exclude_tool_types?.includes(tool.toolType)) return false
  return !(filter.return_only_letta_tools && tool.toolType === 'custom')
}
