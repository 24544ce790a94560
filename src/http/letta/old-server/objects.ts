import type { Block } from '../../../core/block.ts'
import { DEFAULT_BLOCK_LIMIT } from '../../../core/block.ts'
import { defined } from '../../../core/defined.ts'
import type { AgentId, BlockId, McpServerId, PassageId, ToolId } from '../../../core/id.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { McpServer } from '../../../core/mcp-server.ts'
import { Problem } from '../../../core/problem.ts'
import { handleOf } from '../../../core/target.ts'
import type { SourceItem } from '../../../ports/import-source.ts'
import { embeddingTargetOf } from '../../../service/search/hybrid-search.ts'
import type { ServiceContext } from '../../../service/service-context.ts'
import { toStoredTool } from '../../../service/tools/tools.ts'
import { newServerBody, newServerFrom } from '../mcp-server-body.ts'
import { dateOf, idsIn, textOf } from './agent.ts'
import type { Listed } from './pages.ts'

/** A block, with its limit as it is: the old server did not enforce it. */
export function readOldBlock(block: Listed, context: ServiceContext): SourceItem {
  const label = textOf(block.label).trim()
  if (label === '') return leftOut('block', block.id, 'It has no label.')
  const value: Block = {
    id: block.id as BlockId,
    organizationId: context.organizationId,
    label,
    value: textOf(block.value),
    limit: typeof block.limit === 'number' && block.limit >= 1 ? Math.floor(block.limit) : DEFAULT_BLOCK_LIMIT,
    readOnly: block.read_only === true,
    tags: idsIn(block.tags),
    metadata: (block.metadata ?? {}) as JsonObject,
    isTemplate: block.is_template === true,
    ...defined({
      description: textOf(block.description) || undefined,
      hidden: typeof block.hidden === 'boolean' ? block.hidden : undefined,
      templateName: textOf(block.template_name ?? block.name) || undefined,
    }),
    version: 1,
    createdAt: dateOf(block.created_at) || context.deps.clock.now(),
    updatedAt: dateOf(block.updated_at) || context.deps.clock.now(),
  }
  return { type: 'block', block: value }
}

const WITHOUT_SOURCE = 'It is a tool of the old server itself, without source code.'

/** A tool with source, or of an MCP server. `servers` are ids of MCP servers by name. */
export function readOldTool(tool: Listed, servers: ReadonlyMap<string, string>, context: ServiceContext): SourceItem {
  const schema = (tool.json_schema ?? {}) as JsonObject
  const name = textOf(tool.name) || textOf(schema.name)
  const type = textOf(tool.tool_type) || 'custom'
  if (type === 'external_mcp') return readMcpTool({ tool, name, schema }, servers, context)
  if (type !== 'custom') {
    const isHere = context.deps.tools.find(name) !== undefined
    return leftOut(
      'tool',
      tool.id,
      isHere ? `Holdfast has its own ${name}, which agents use instead.` : `${name}: ${WITHOUT_SOURCE}`,
    )
  }
  if (!textOf(tool.source_code)) return leftOut('tool', tool.id, `${name}: it has no source code.`)
  try {
    const stored = toStoredTool(
      {
        sourceCode: textOf(tool.source_code),
        sourceType: textOf(tool.source_type) || 'python',
        jsonSchema: { ...schema, ...defined({ name: name || undefined }) },
        needsApproval: tool.default_requires_approval === true,
        parallel: tool.enable_parallel_execution === true,
        tags: idsIn(tool.tags),
        wire: defined({
          pip_requirements: (tool.pip_requirements ?? undefined) as JsonObject | undefined,
          npm_requirements: (tool.npm_requirements ?? undefined) as JsonObject | undefined,
          metadata_: (tool.metadata_ ?? undefined) as JsonObject | undefined,
        }),
        ...defined({
          argsSchema: (tool.args_json_schema ?? undefined) as JsonObject | undefined,
          description: textOf(tool.description) || undefined,
          returnCharLimit: typeof tool.return_char_limit === 'number' ? tool.return_char_limit : undefined,
        }),
      },
      context,
    )
    return { type: 'tool', tool: { ...stored, id: tool.id as ToolId, ...dates(tool, context) } }
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault
    return leftOut('tool', tool.id, fault.message)
  }
}

type NamedTool = { tool: Listed; name: string; schema: JsonObject }

function readMcpTool(
  { tool, name, schema }: NamedTool,
  servers: ReadonlyMap<string, string>,
  context: ServiceContext,
): SourceItem {
  const { mcp } = (tool.metadata_ ?? {}) as { mcp?: { server_name?: unknown; server_id?: unknown } }
  const tagged = idsIn(tool.tags)
    .find((tag) => tag.startsWith('mcp:'))
    ?.slice('mcp:'.length)
  const serverName = textOf(mcp?.server_name) || tagged || ''
  const serverId = textOf(mcp?.server_id) || servers.get(serverName)
  if (!serverId)
    return leftOut('tool', tool.id, `${name}: its MCP server ${serverName || 'is unknown'} is not at the source.`)
  return {
    type: 'tool',
    tool: {
      id: tool.id as ToolId,
      organizationId: context.organizationId,
      name,
      description: textOf(tool.description) || textOf(schema.description),
      toolType: 'external_mcp',
      sourceType: textOf(tool.source_type) || 'json',
      sourceCode: '',
      jsonSchema: { name, ...schema },
      tags: idsIn(tool.tags),
      returnCharLimit: typeof tool.return_char_limit === 'number' ? tool.return_char_limit : 50_000,
      needsApproval: tool.default_requires_approval === true,
      parallel: tool.enable_parallel_execution === true,
      wire: {},
      mcp: { serverId: serverId as McpServerId, toolName: name, effects: 'once' },
      ...dates(tool, context),
    },
  }
}

/** An MCP server of `/v1/mcp-servers`, or of the older list, which has names and no ids. */
export function readOldMcpServer(server: Listed, context: ServiceContext): SourceItem {
  const name = textOf(server.server_name)
  const config = {
    ...server,
    ...(server.config as object | undefined),
    ...(server.stdio_config as object | undefined),
  } as Record<string, unknown>
  const type = config.mcp_server_type ?? config.type ?? (config.command ? 'stdio' : 'streamable_http')
  const auth = config.auth_token ?? config.token
  const read = newServerBody.safeParse({
    server_name: name,
    config: { ...config, mcp_server_type: type, auth_token: auth ?? null, args: config.args ?? [] },
  })
  if (!read.success)
    return leftOut('mcp-server', server.id, `${name}: ${read.error.issues[0]?.message ?? 'not understood'}`)
  const { transport, secrets } = newServerFrom(read.data)
  const { createdAt, updatedAt } = dates(server, context)
  const stored: McpServer = {
    id: server.id as McpServerId,
    organizationId: context.organizationId,
    name,
    transport,
    contact: transport.type === 'stdio' ? { state: 'waits-for-sandbox' } : { state: 'not-asked' },
    revision: 1,
    createdAt,
    updatedAt,
  }
  return { type: 'mcp-server', server: stored, secrets }
}

/** A passage; its vector is kept if this server uses the same embedding model, with as many dimensions. */
export function readOldPassage(
  passage: Listed,
  agent: Parameters<typeof embeddingTargetOf>[0],
  context: ServiceContext,
): SourceItem {
  const text = textOf(passage.text)
  if (text === '') return leftOut('passage', passage.id, 'It is empty.')
  const agentId = (agent?.id ?? '') as AgentId
  return {
    type: 'passage',
    passage: {
      id: passage.id as PassageId,
      organizationId: context.organizationId,
      agentId,
      text,
      tags: idsIn(passage.tags),
      createdAt: dateOf(passage.created_at) || context.deps.clock.now(),
    },
    ...defined({ vector: vectorOf(passage, agent, context) }),
  }
}

type OldEmbedding = { handle?: unknown; embedding_model?: unknown; embedding_dim?: unknown }

function vectorOf(
  { embedding, embedding_config }: Listed,
  agent: Parameters<typeof embeddingTargetOf>[0],
  context: ServiceContext,
) {
  if (!Array.isArray(embedding) || !embedding.every((value) => Number.isFinite(value))) return undefined
  const target = embeddingTargetOf(agent, context.embeddings)
  if (!target) return undefined
  const { handle, embedding_model, embedding_dim } = (embedding_config ?? {}) as OldEmbedding
  const isSameModel = handle === handleOf(target) || embedding_model === target.model
  const size = typeof embedding_dim === 'number' ? embedding_dim : embedding.length
  const wanted = context.embeddings.embedder.dimensionsOf(target) ?? size
  // The old server stores vectors with zeros at their end, up to 4,096 values.
  if (!isSameModel || size !== wanted || embedding.length < size || embedding.slice(size).some((value) => value !== 0))
    return undefined
  return { model: handleOf(target), values: (embedding as number[]).slice(0, size) }
}

const dates = ({ created_at, updated_at }: Listed, { deps }: ServiceContext) => {
  const now = deps.clock.now()
  return { createdAt: dateOf(created_at) || now, updatedAt: dateOf(updated_at) || dateOf(created_at) || now }
}

type LeftOutKind = Extract<SourceItem, { type: 'left-out' }>['kind']

export const leftOut = (kind: LeftOutKind, id: string, reason: string): SourceItem => ({
  type: 'left-out',
  kind,
  id,
  reason,
})
