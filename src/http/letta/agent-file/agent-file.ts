import { z } from 'zod'
import type { AgentSettings } from '../../../core/agent.ts'
import { defined } from '../../../core/defined.ts'
import type { JsonObject } from '../../../core/json.ts'
import { ineffectiveSettings, windowLimitOf } from '../../../core/model-settings.ts'
import { Problem } from '../../../core/problem.ts'
import { SOURCE_EFFECTS } from '../../../core/stored-tool.ts'
import type { AgentImport } from '../../../service/agents/agent-file.ts'
import type { NewBlock } from '../../../service/memory/blocks.ts'
import type { ServiceContext } from '../../../service/service-context.ts'
import type { NewTool } from '../../../service/tools/tools.ts'
import { record } from '../../field.ts'
import { fieldsWithoutEffect } from '../../field-fate.ts'
import { readJson } from '../../json-body.ts'
import { parsed } from '../../parse.ts'
import { newAgentBody, requestedModel, settingsFrom } from '../agent-body.ts'
import { ineffectiveCompaction } from '../compaction-body.ts'
import { requireModel } from '../model-handle.ts'
import { currentEmbedding, isEmbedded } from '../named-models.ts'
import { hasRoomForPrompt } from '../window-limit.ts'
import { newBlockBody, newBlockFrom } from '../wire/block.ts'
import { type FileMessage, fileMessage, type ReadMessage, readMessages } from './messages.ts'
import { refuseRepeatedIds, requireByIds, requireToolNames } from './references.ts'

/** What an import request can override. */
export type ImportOverrides = {
  name?: string
  model?: string
  fallback?: string[]
  embedding?: string
  suffix: string
  withMessages: boolean
  secrets: Record<string, string>
}

/** Parses the agents of a file; throws a 400 that says what is wrong and where. */
export function readAgentFile(bytes: Buffer, overrides: ImportOverrides, context: ServiceContext): AgentImport[] {
  const file = asInvalidFile('The file is not a valid agent file', () =>
    parsed(agentFile, parseDocument(bytes), 'body'),
  )
  refuseRepeatedIds(file)
  if (file.agents.length === 0) throw new Problem('invalid-argument', 'The file contains no agents.')
  if (overrides.name && file.agents.length > 1)
    throw new Problem(
      'invalid-argument',
      `The file has ${file.agents.length} agents. \`name\` can be given only for a file with one agent.`,
    )
  return file.agents.map((agent, index) =>
    asInvalidFile(`agents.${index}`, () => readAgent(agent, file, overrides, context)),
  )
}

const FILE_SHAPE = { depth: 200, values: 5_000_000 }

/** Some files contain the document as a JSON string. */
function parseDocument(bytes: Buffer): unknown {
  const document = readJson(bytes, FILE_SHAPE)
  return typeof document === 'string' ? readJson(Buffer.from(document), FILE_SHAPE) : document
}

/** An invalid file is a 400 and not a 422: the request itself is well formed. */
function asInvalidFile<T>(what: string, read: () => T): T {
  try {
    return read()
  } catch (fault) {
    if (!(fault instanceof Problem) || fault.kind !== 'invalid') throw fault
    throw new Problem('invalid-argument', `${what}: ${fault.message}`)
  }
}

const fileTool = z.looseObject({
  id: z.string(),
  name: z.string().nullish(),
  tool_type: z.string().nullish(),
  source_type: z.string().nullish(),
  source_code: z.string().nullish(),
  json_schema: record.nullish(),
  args_json_schema: record.nullish(),
  description: z.string().nullish(),
  tags: z.array(z.string()).nullish(),
  return_char_limit: z.int().min(1).nullish(),
  default_requires_approval: z.boolean().nullish(),
  enable_parallel_execution: z.boolean().nullish(),
  pip_requirements: z.array(record).nullish(),
  npm_requirements: z.array(record).nullish(),
  effects: z.enum(SOURCE_EFFECTS).nullish().catch(null),
  egress: z.array(z.string()).nullish().catch(null),
})

/** Ids in a file are local to it. Unknown fields are kept here to be named. */
const fileAgent = newAgentBody.loose().extend({
  id: z.string(),
  tool_ids: z.array(z.string()).max(1000).nullish(),
  block_ids: z.array(z.string()).max(1000).nullish(),
  // Values that have no effect here are kept and named, so that a file of another server can be imported.
  model_settings: record.nullish(),
  llm_config: record.nullish(),
  response_format: record.nullish(),
  compaction_settings: record.nullish(),
  identity_ids: z.array(z.unknown()).nullish(),
  folder_ids: z.array(z.unknown()).nullish(),
  source_ids: z.array(z.unknown()).nullish(),
  from_template: z.unknown().optional(),
  messages: z.array(fileMessage).max(1_000_000).nullish(),
  in_context_message_ids: z.array(z.string()).nullish(),
  passages: z
    .array(z.object({ text: z.string().min(1), tags: z.array(z.string()).nullish(), created_at: z.string().nullish() }))
    .nullish(),
})

const list = z.array(z.unknown()).nullish()

const agentFile = z.object({
  agents: z.array(fileAgent).max(1000),
  blocks: z.array(newBlockBody.and(z.object({ id: z.string() }))).nullish(),
  tools: z.array(fileTool).nullish(),
  groups: list,
  files: list,
  sources: list,
  mcp_servers: list,
  skills: list,
})

type AgentFile = z.output<typeof agentFile>
type FileAgent = AgentFile['agents'][number]

function readAgent(
  agent: FileAgent,
  file: AgentFile,
  overrides: ImportOverrides,
  context: ServiceContext,
): AgentImport {
  const model = overrides.model ? requireModel(overrides.model, context) : modelOfFile(agent, context)
  const tools = requireByIds(file.tools ?? [], agent.tool_ids ?? [])
  const blocks = requireByIds(file.blocks ?? [], agent.block_ids ?? [])
  requireToolNames(tools.map((tool) => ({ id: tool.id, name: toolNames(tool)[0] })))
  const secrets = { ...agent.secrets, ...agent.tool_exec_environment_variables, ...overrides.secrets }
  // A file from elsewhere must not decide that commands run unasked, or what tools may reach.
  const isLoose = agent.command_approval === 'never'
  const embedding = currentEmbedding(overrides.embedding || agent.embedding || undefined, context)
  const settings = settingsFrom(
    {
      ...agent,
      command_approval: isLoose ? null : agent.command_approval,
      egress: null,
      ...defined({ embedding }),
    },
    { agentType: agent.agent_type ?? 'letta_v1_agent' },
  )
  const promptLength = blockValues(agent, blocks).reduce((sum, { length }) => sum + length, agent.system?.length ?? 0)
  const { kept, dropped } = withRoomForPrompt(settings, promptLength)
  const stored = (settings.wire?.model_settings ?? {}) as JsonObject
  const left = [
    ...unsupportedParts(file),
    ...ineffectiveSettings(stored).map((name) => `model_settings.${name}`),
    ...ineffectiveCompaction(agent.compaction_settings ?? {}, context).map((name) => `compaction_settings.${name}`),
    ...(embedding === undefined || isEmbedded(embedding, context) ? [] : ['embedding']),
    ...otherFieldsWithoutEffect(agent),
    ...dropped,
    ...(isLoose ? ['command_approval'] : []),
    ...(agent.egress?.length ? ['egress'] : []),
    ...tools.flatMap(({ egress, name }) => (egress?.length ? [`egress of ${name}`] : [])),
    ...Object.entries(secrets).flatMap(([name, value]) => (value === '' ? [missingSecret(name)] : [])),
  ]
  const { messages, contextStart } = overrides.withMessages ? importedHistory(agent) : { messages: [], contextStart: 0 }
  return {
    name: overrides.name ?? `${agent.name ?? 'imported'}${overrides.suffix}`,
    system: agent.system ?? '',
    model,
    fallback: overrides.fallback ?? agent.fallback ?? [],
    settings: { ...kept, ...defined({ notImported: left.length > 0 ? left : undefined }) },
    blocks: [...blocks, ...(agent.memory_blocks ?? [])].map((block): NewBlock => newBlockFrom(block)),
    tags: agent.tags ?? [],
    messages,
    contextStart,
    secrets,
    tools: [...(agent.tools ?? []), ...tools.flatMap(toolNames)],
    sources: tools.filter(isSource).map(sourceOf),
    passages: (agent.passages ?? []).map(({ text, tags, created_at }) => {
      const at = created_at ? Date.parse(created_at) : Number.NaN
      return { text, tags: tags ?? [], ...defined({ createdAt: Number.isNaN(at) ? undefined : at }) }
    }),
  }
}

/** Files that Holdfast exports have the names of secrets only. */
const missingSecret = (name: string): string => `secret ${name}: its value is not in the file`

const blockValues = (agent: FileAgent, blocks: readonly { value: string }[]): string[] =>
  [...blocks, ...(agent.memory_blocks ?? [])].map(({ value }) => value)

/** A limit that the system prompt alone exceeds is not imported: no message could ever be sent. */
export function withRoomForPrompt(settings: AgentSettings, promptLength: number) {
  const limit = windowLimitOf({ settings })
  if (limit === undefined || hasRoomForPrompt(limit, promptLength)) return { kept: settings, dropped: [] }
  const { context_window_limit: _, ...wire } = settings.wire ?? {}
  return { kept: { ...settings, wire }, dropped: ['context_window_limit'] }
}

/**
 * Fields that are not worth a note: what every file has, what only a person of the retired server reads, and what the
 * import itself carries out or names in other words.
 */
const UNREMARKABLE =
  /^(id|messages|passages|in_context_message_ids|tools|files_agents|model_settings|compaction_settings|embedding_config|max_files_open|per_file_view_window_char_limit|include_\w+|embedding_chunk_size|secrets|tool_exec_environment_variables|llm_config\.(display_name|tier|provider_category|model_wrapper|model_endpoint)|.*prompt_template)\b/

/** The names of the other fields that are kept and have no effect here. */
function otherFieldsWithoutEffect(agent: FileAgent): string[] {
  const names = fieldsWithoutEffect(newAgentBody, agent).map((sentence) => sentence.split(': ')[0]!)
  return [...new Set(names.filter((name) => !UNREMARKABLE.test(name)))]
}

/** The request can name another model than the file, which the message says. */
function modelOfFile(agent: FileAgent, context: ServiceContext): AgentImport['model'] {
  try {
    return requireModel(requestedModel(agent), context)
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault
    throw new Problem(
      fault.kind,
      `${fault.message.replace(/\.$/, '')}. The form field \`model\` replaces the model of the file.`,
    )
  }
}

type FileTool = z.output<typeof fileTool>

const toolNames = ({ name, json_schema }: FileTool): string[] => {
  const stated = name ?? json_schema?.name
  return typeof stated === 'string' ? [stated] : []
}

const isSource = ({ tool_type, source_code }: FileTool): boolean =>
  Boolean(source_code) && (tool_type === 'custom' || !tool_type)

function sourceOf(tool: FileTool): NewTool {
  const [name] = toolNames(tool)
  const schema: JsonObject = { ...tool.json_schema, ...defined({ name: name || undefined }) }
  return {
    sourceCode: tool.source_code!,
    sourceType: tool.source_type ?? 'python',
    jsonSchema: schema,
    ...defined({
      argsSchema: tool.args_json_schema ?? undefined,
      description: tool.description || undefined,
      tags: tool.tags ?? undefined,
      returnCharLimit: tool.return_char_limit || undefined,
      effects: tool.effects ?? undefined,
      wire: requirementsOf(tool),
    }),
    needsApproval: tool.default_requires_approval ?? false,
    parallel: tool.enable_parallel_execution ?? false,
  }
}

function requirementsOf({ pip_requirements: pip, npm_requirements: npm }: FileTool): JsonObject | undefined {
  if (!pip?.length && !npm?.length) return undefined
  return defined({
    pip_requirements: pip?.length ? (pip as JsonObject[]) : undefined,
    npm_requirements: npm?.length ? (npm as JsonObject[]) : undefined,
  })
}

/** Messages outside the context come before those in it; the system prompt is not imported but recompiled. */
function importedHistory(agent: FileAgent): { messages: ReadMessage[]; contextStart: number } {
  const all = agent.messages ?? []
  const shown = agent.in_context_message_ids ?? all.flatMap(({ id }) => id ?? [])
  const byId = new Map(all.flatMap((message) => (message.id ? [[message.id, message] as const] : [])))
  const inView = shown.flatMap((id) => byId.get(id) ?? [])
  const prompt = inView[0]?.role === 'system' ? inView[0] : undefined
  const isShown = new Set<FileMessage>(inView)
  const earlier = readMessages(all.filter((message) => !isShown.has(message)))
  const view = readMessages(inView.filter((message) => message !== prompt))
  const replaces = { from: 0, to: Math.max(earlier.length - 1, 0) }
  const messages = [...earlier, ...view].map(
    ({ body, ...at }): ReadMessage => ({ body: body.role === 'summary' ? { ...body, replaces } : body, ...at }),
  )
  return { messages, contextStart: earlier.length }
}

/** The parts of the file that are not imported, for the metadata of the agent. */
function unsupportedParts(file: AgentFile): string[] {
  return (['groups', 'files', 'sources', 'mcp_servers', 'skills'] as const).flatMap((kind) => {
    const count = file[kind]?.length ?? 0
    return count > 0 ? [`${kind}: ${count}`] : []
  })
}
