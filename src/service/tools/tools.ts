import { builtinToolType } from '../../core/base-tools.ts'
import { defined } from '../../core/defined.ts'
import { parseId, type ToolId, uuidFrom } from '../../core/id.ts'
import type { JsonObject } from '../../core/json.ts'
import { checkSchema, SchemaFault } from '../../core/json-schema/schema-document.ts'
import { Problem } from '../../core/problem.ts'
import type { SourceEffects, StoredTool } from '../../core/stored-tool.ts'
import { parsePythonSource } from '../../core/tool-source.ts'
import { parseTypescriptSource } from '../../core/typescript-source.ts'
import { mayBeStored } from '../../engine/agent-tools.ts'
import type { Tool } from '../../ports/tool.ts'
import { requireApproveRight } from '../approvals/approver.ts'
import { requireRoomFor } from '../people/storage-quota.ts'
import type { ServiceContext } from '../service-context.ts'

export type NewTool = {
  sourceCode: string
  sourceType?: string
  description?: string
  jsonSchema?: JsonObject
  argsSchema?: JsonObject
  tags?: string[]
  returnCharLimit?: number
  needsApproval?: boolean
  parallel?: boolean
  effects?: SourceEffects
  egress?: string[]
  wire?: JsonObject
}

export type ToolChange = Partial<NewTool>

const RETURN_LIMIT = 50_000

/** Every tool that agents of this organization can use: built-in tools, then stored ones. */
export async function listTools(context: ServiceContext): Promise<StoredTool[]> {
  const { tools, store } = context.deps
  const stored = (await store.tools.all(context.organizationId)).filter(({ name }) => mayBeStored(tools.find(name)))
  const taken = new Set(stored.map(({ name }) => name))
  const own = tools.names().filter((name) => !taken.has(name))
  return [...own.map((name) => builtinTool(tools.find(name)!, context)), ...stored]
}

export async function requireTool(id: ToolId, context: ServiceContext): Promise<StoredTool> {
  const { tools, store } = context.deps
  const own = tools.names().find((name) => builtinToolId(name, context) === id)
  const tool = own ? builtinTool(tools.find(own)!, context) : await store.tools.get(context.organizationId, id)
  if (tool) return tool
  throw new Problem('not-found', `There is no tool "${id}".`)
}

/** The tools with these names, in order; unknown names are left out. */
export async function findToolsByName(names: readonly string[], context: ServiceContext): Promise<StoredTool[]> {
  const byName = await storedByName(names, context)
  return names.flatMap((name) => {
    const own = context.deps.tools.find(name)
    const found = byName.get(name) ?? (own && builtinTool(own, context))
    return found ? [found] : []
  })
}

/** The names of existing tools among these, in order. */
export async function findKnownToolNames(names: readonly string[], context: ServiceContext): Promise<string[]> {
  const byName = await storedByName(names, context)
  return names.filter((name) => context.deps.tools.find(name) || byName.has(name))
}

/** The stored tools among these names; other names are those of built-in tools, or of none. */
async function storedByName(names: readonly string[], { deps, organizationId }: ServiceContext) {
  const wanted = names.filter((name) => mayBeStored(deps.tools.find(name)))
  const stored = wanted.length > 0 ? await deps.store.tools.named(organizationId, wanted) : []
  return new Map(stored.map((tool) => [tool.name, tool]))
}

export async function createTool(input: NewTool, context: ServiceContext): Promise<StoredTool> {
  const tool = toStoredTool(input, context)
  await requireRoomFor(tool, context)
  refuseBuiltinName(tool.name, context)
  if ((await context.deps.store.tools.create(tool)) === 'created') return tool
  throw new Problem('conflict', `A tool named "${tool.name}" already exists. Use PUT /v1/tools (upsert) to replace it.`)
}

/** Replaces the tool of the same name, or creates it. */
export async function upsertTool(input: NewTool, context: ServiceContext): Promise<StoredTool> {
  const tool = toStoredTool(input, context)
  const known = (await storedByName([tool.name], context)).get(tool.name)
  if (!known) return createTool(input, context)
  if (known.mcp)
    throw new Problem('conflict', `The name ${tool.name} is used by a tool of an MCP server. Choose another name.`)
  await requireRoomFor(tool, context)
  return updateStored(
    known.id,
    // A request that says nothing about approval does not lift it.
    ({ id, createdAt, needsApproval }) => ({
      ...tool,
      id,
      createdAt,
      needsApproval: input.needsApproval ?? needsApproval,
    }),
    context,
  )
}

export async function updateTool(id: ToolId, change: ToolChange, context: ServiceContext): Promise<StoredTool> {
  const before = await requireTool(id, context)
  refuseBuiltinChange(before)
  await requireRoomFor(change, context)
  const isRead = change.sourceCode !== undefined || change.jsonSchema !== undefined || change.argsSchema !== undefined
  if (before.mcp && (isRead || change.description !== undefined))
    throw new Problem('invalid', `${before.name} is defined by its MCP server. Refresh the server to update it.`)
  return updateStored(
    id,
    (tool) => {
      const { jsonSchema: _, description: __, ...kept } = tool
      const wire = tool.mcp ? tool.wire : (change.wire ?? tool.wire)
      if (!isRead) return { ...tool, ...withoutUndefined(change), wire, updatedAt: context.deps.clock.now() }
      const schema = change.jsonSchema ?? (change.sourceCode === undefined ? tool.jsonSchema : undefined)
      const input = { ...kept, ...withoutUndefined(change), ...defined({ jsonSchema: schema }) }
      return { ...toStoredTool(input, context), id: tool.id, createdAt: tool.createdAt }
    },
    context,
  )
}

export async function deleteTool(id: ToolId, context: ServiceContext): Promise<void> {
  const tool = await requireTool(id, context)
  refuseBuiltinChange(tool)
  await context.deps.store.tools.delete(context.organizationId, id)
}

function refuseBuiltinChange({ name, toolType, mcp }: StoredTool): void {
  if (toolType !== 'custom' && !mcp)
    throw new Problem('invalid', `The built-in tool ${name} cannot be changed or deleted.`)
}

async function updateStored(
  id: ToolId,
  edit: (tool: StoredTool) => StoredTool,
  context: ServiceContext,
): Promise<StoredTool> {
  const updated = await context.deps.store.tools.update(context.organizationId, id, (tool) => {
    const edited = edit(tool)
    if (edited.name !== tool.name) refuseBuiltinName(edited.name, context)
    if (tool.needsApproval && !edited.needsApproval)
      requireApproveRight(`lifting the approval of the tool ${tool.name}`, context)
    return edited
  })
  if (updated === 'name-taken')
    throw new Problem('conflict', 'Another tool already has the new name. Choose another name.')
  if (!updated) throw new Problem('not-found', `There is no tool "${id}".`)
  return updated
}

function refuseBuiltinName(name: string, context: ServiceContext): void {
  if (context.deps.tools.find(name))
    throw new Problem('conflict', `The name ${name} is used by a built-in tool. Choose another name.`)
}

/** Built-in tools have no row: their ids are derived from their names, so that they are the same on every server. */
function builtinToolId(name: string, { deps }: ServiceContext): ToolId {
  return parseId('tool', `tool-${uuidFrom(deps.digest(`builtin tool\n${name}`))}`)!
}

function builtinTool(tool: Tool, context: ServiceContext): StoredTool {
  const { name, description, inputSchema, needsApproval, parallel, outputLimit } = tool
  return {
    id: builtinToolId(name, context),
    organizationId: context.organizationId,
    name,
    description,
    toolType: builtinToolType(name),
    sourceType: 'typescript',
    sourceCode: '',
    jsonSchema: { name, description, parameters: inputSchema },
    tags: [],
    returnCharLimit: outputLimit,
    needsApproval,
    parallel,
    wire: {},
    createdAt: 0,
    updatedAt: 0,
  }
}

export function toStoredTool(input: NewTool, context: ServiceContext): StoredTool {
  const { clock, randomness } = context.deps
  const now = clock.now()
  const { name, description, parameters } = describeTool(input)
  return {
    id: `tool-${randomness.uuid()}`,
    organizationId: context.organizationId,
    name,
    toolType: 'custom',
    description,
    sourceType: input.sourceType ?? 'python',
    sourceCode: input.sourceCode,
    jsonSchema: { ...input.jsonSchema, name, description, parameters },
    ...defined({ argsSchema: input.argsSchema, effects: input.effects, egress: input.egress }),
    tags: input.tags ?? [],
    returnCharLimit: input.returnCharLimit ?? RETURN_LIMIT,
    needsApproval: input.needsApproval ?? false,
    parallel: input.parallel ?? false,
    wire: input.wire ?? {},
    createdAt: now,
    updatedAt: now,
  }
}

type ToolDescription = { name: string; description: string; parameters: JsonObject }

/** A given schema wins; missing parts are read from the source. */
function describeTool({
  sourceCode,
  sourceType = 'python',
  jsonSchema,
  argsSchema,
  description,
}: NewTool): ToolDescription {
  const stated = typeof jsonSchema?.name === 'string' ? jsonSchema.name : undefined
  const parse = sourceType === 'typescript' ? parseTypescriptSource : parsePythonSource
  const source = parse(sourceCode, stated)
  const fromSource = source.type === 'read' ? source : undefined
  const named = fromSource?.name
  if (stated && named && stated !== named)
    throw new Problem(
      'invalid',
      `The schema names the tool "${stated}", but the source defines "${named}" and no function of that name.`,
    )
  const name = stated ?? named
  if (!name) {
    const reason = source.type === 'unreadable' ? source.reason : 'it names none'
    throw new Problem('invalid', `The name of the tool cannot be read from its source: ${reason}. Give a json_schema.`)
  }
  if (!/^[A-Za-z_][\w-]{0,63}$/.test(name))
    throw new Problem(
      'invalid',
      `"${name}" is not a valid tool name. Use up to 64 letters, digits, _ and -, and begin with a letter or _.`,
    )
  const parameters = argsSchema ?? asJsonObject(jsonSchema?.parameters) ?? fromSource?.parameters
  if (!parameters)
    throw new Problem('invalid', `The parameters of ${name} cannot be read from its source. Give a json_schema.`)
  refuseBadSchema(parameters, argsSchema ? 'args_json_schema' : 'json_schema.parameters')
  const words = description ?? (typeof jsonSchema?.description === 'string' ? jsonSchema.description : undefined)
  return { name, description: words ?? fromSource?.description ?? '', parameters }
}

function refuseBadSchema(schema: JsonObject, field: string): void {
  try {
    checkSchema(schema)
  } catch (fault) {
    if (!(fault instanceof SchemaFault)) throw fault
    throw new Problem('invalid', `${field} cannot be used: ${fault.message}. Change it, or leave that part out.`)
  }
}

const asJsonObject = (value: unknown): JsonObject | undefined =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as JsonObject) : undefined

const withoutUndefined = (change: ToolChange): ToolChange =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
