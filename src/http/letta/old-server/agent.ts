import type { Agent, AgentSettings } from '../../../core/agent.ts'
import { defined } from '../../../core/defined.ts'
import type { AgentId } from '../../../core/id.ts'
import type { Json, JsonObject } from '../../../core/json.ts'
import { ineffectiveSettings } from '../../../core/model-settings.ts'
import { Problem } from '../../../core/problem.ts'
import { isTargetHandle, type TargetHandle } from '../../../core/target.ts'
import { currentHandle } from '../../../service/providers/retired-handles.ts'
import type { ServiceContext } from '../../../service/service-context.ts'
import { newAgentBody, requestedModel, settingsFrom } from '../agent-body.ts'
import { withRoomForPrompt } from '../agent-file/agent-file.ts'
import { AUTO_MODEL } from '../model-handle.ts'
import { toolRuleBody } from '../tool-rule-body.ts'
import type { Listed } from './pages.ts'

export type OldAgent = {
  agent: Agent
  blocks: Listed[]
  tools: Listed[]
  blockIds: string[]
  tags: string[]
  secrets: Record<string, string>
  messageIds: string[]
}

const SETTINGS = [
  'description',
  'metadata',
  'timezone',
  'hidden',
  'model_settings',
  'compaction_settings',
  'context_window_limit',
  'embedding',
  'embedding_config',
  'max_files_open',
  'per_file_view_window_char_limit',
  'enable_sleeptime',
  'message_buffer_autoclear',
  'response_format',
  'parallel_tool_calls',
  'max_tokens',
] as const

/** An agent as the old server shows it. What has no place here is named in `notImported`. */
export function readOldAgent(state: Listed, context: ServiceContext): OldAgent {
  const notes: string[] = []
  const system = textOf(state.system)
  const blocks = listed(state.blocks ?? (state.memory as { blocks?: unknown } | null)?.blocks)
  const settings = oldSettings(state, notes)
  const promptLength = blocks.reduce((sum, { value }) => sum + textOf(value).length, system.length)
  const { kept, dropped } = withRoomForPrompt(settings, promptLength)
  notes.push(...dropped)
  const stored = (settings.wire?.model_settings ?? {}) as JsonObject
  notes.push(...ineffectiveSettings(stored).map((name) => `model_settings.${name}`))
  for (const field of ['identity_ids', 'sources', 'managed_group', 'multi_agent_group'] as const)
    if (asksForSomething(state[field])) notes.push(`${field}: kept with the import`)
  const tools = listed(state.tools)
  const secrets = secretsIn(state, notes)
  const model = modelOf(state, context, notes)
  const agent: Agent = {
    id: state.id as AgentId,
    organizationId: context.organizationId,
    name: textOf(state.name).trim() || state.id,
    system,
    model,
    fallback: [],
    tools: tools.flatMap(({ name }) => (typeof name === 'string' ? [name] : [])),
    settings: { ...kept, ...defined({ notImported: notes.length > 0 ? notes : undefined }) },
    createdAt: dateOf(state.created_at),
    updatedAt: dateOf(state.updated_at ?? state.created_at),
  }
  return {
    agent,
    blocks,
    tools,
    blockIds: blocks.map(({ id }) => id),
    tags: Array.isArray(state.tags)
      ? state.tags.filter((tag): tag is string => typeof tag === 'string' && tag !== '')
      : [],
    secrets,
    messageIds: idsIn(state.message_ids),
  }
}

/** Each setting by itself: one that is not understood does not keep the agent back. */
function oldSettings(state: Listed, notes: string[]): AgentSettings {
  const body: Record<string, unknown> = {}
  for (const field of SETTINGS) {
    const value = state[field]
    if (value === undefined || value === null) continue
    const read = (
      field === 'response_format' || field === 'model_settings' ? LOOSE : newAgentBody.shape[field]
    ).safeParse(value)
    if (read.success) body[field] = read.data
    else notes.push(`${field}: ${read.error.issues[0]?.message ?? 'not understood'}`)
  }
  const config = LOOSE.safeParse(state.llm_config)
  if (config.success) body.llm_config = config.data
  body.tool_rules = rulesIn(state.tool_rules, notes)
  const agentType = textOf(state.agent_type) || 'memgpt_agent'
  return settingsFrom(body as Parameters<typeof settingsFrom>[0], { agentType })
}

const LOOSE = newAgentBody.shape.metadata

function rulesIn(value: unknown, notes: string[]): JsonObject[] | undefined {
  if (!Array.isArray(value)) return undefined
  return value.flatMap((rule): JsonObject[] => {
    if (toolRuleBody.safeParse(rule).success) return [rule as JsonObject]
    const { type, tool_name } = (rule ?? {}) as { type?: unknown; tool_name?: unknown }
    notes.push(`tool_rules: ${String(type)} of ${String(tool_name)}`)
    return []
  })
}

/** A model whose provider is not configured yet is kept: its turns say what to configure. */
function modelOf(state: Listed, context: ServiceContext, notes: string[]): TargetHandle {
  const fields = {
    model: textOf(state.model) || undefined,
    llm_config: (state.llm_config ?? undefined) as JsonObject | undefined,
  }
  const named = requestedModel(fields as Parameters<typeof requestedModel>[0])
  if (named === undefined || named === AUTO_MODEL || !isTargetHandle(named)) return context.defaults.model
  try {
    return currentHandle(named, context)
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault
    notes.push(`model: ${fault.message} The agent uses ${context.defaults.model}.`)
    return context.defaults.model
  }
}

function secretsIn(state: Listed, notes: string[]): Record<string, string> {
  const secrets: Record<string, string> = {}
  const both = [state.tool_exec_environment_variables, state.secrets].flatMap((list) =>
    Array.isArray(list) ? list : [],
  )
  const hidden = new Set<string>()
  for (const entry of both as { key?: unknown; value?: unknown }[]) {
    if (typeof entry?.key !== 'string') continue
    if (typeof entry.value === 'string' && entry.value !== '') secrets[entry.key] = entry.value
    else hidden.add(entry.key)
  }
  for (const key of hidden) if (!(key in secrets)) notes.push(`secret ${key}: the old server does not show its value`)
  return secrets
}

export const textOf = (value: unknown): string => (typeof value === 'string' ? value.replaceAll('\0', '') : '')

export const dateOf = (value: unknown): number => {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? 0 : at
}

export const idsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((id): id is string => typeof id === 'string') : []

const listed = (value: unknown): Listed[] =>
  Array.isArray(value) ? value.filter((item): item is Listed => typeof item?.id === 'string') : []

const asksForSomething = (value: Json | unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : value !== null && value !== undefined
