import { z } from 'zod'
import type { AgentSettings } from '../../core/agent.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { parseTarget } from '../../core/target.ts'
import { saidInput } from './send-body.ts'
import { toolRuleBody } from './tool-rule-body.ts'
import { newBlockBody, record } from './wire/block.ts'

const name = z.string().min(1).max(500)
const ids = z.array(z.string()).max(1000)
const rules = z.array(toolRuleBody).max(1000)

const compaction = z.looseObject({
  model: z
    .string()
    .refine((text) => parseTarget(text) !== undefined, 'must be provider/model')
    .nullish(),
  prompt: z.string().nullish(),
  mode: z.enum(['sliding_window', 'all', 'self_compact_sliding_window', 'self_compact_all']).nullish(),
  sliding_window_percentage: z.number().gt(0).max(1).nullish(),
  clip_chars: z.number().int().min(1).nullish(),
})

/** Kept and given back; some of it does nothing here yet. */
const WIRE = {
  model_settings: record.nullish(),
  compaction_settings: record.and(compaction).nullish(),
  context_window_limit: z.number().int().min(1).nullish(),
  message_buffer_autoclear: z.boolean().nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: record.nullish(),
  embedding: z.string().nullish(),
  embedding_config: record.nullish(),
  enable_sleeptime: z.boolean().nullish(),
  max_files_open: z.number().int().min(0).max(1000).nullish(),
  per_file_view_window_char_limit: z.number().int().min(0).nullish(),
  max_tokens: z.number().int().min(1).nullish(),
  enable_reasoner: z.boolean().nullish(),
}

const COMMON = {
  system: z.string().nullish(),
  model: z.string().nullish(),
  llm_config: record.nullish(),
  tool_ids: ids.nullish(),
  block_ids: ids.nullish(),
  tags: z.array(z.string().min(1)).max(200).nullish(),
  tool_rules: rules.nullish(),
  description: z.string().nullish(),
  metadata: record.nullish(),
  timezone: z.string().nullish(),
  hidden: z.boolean().nullish(),
  secrets: z.record(z.string(), z.string()).nullish(),
  tool_exec_environment_variables: z.record(z.string(), z.string()).nullish(),
  ...WIRE,
}

const AGENT_TYPES = [
  ...['letta_v1_agent', 'memgpt_agent', 'memgpt_v2_agent', 'react_agent', 'workflow_agent', 'split_thread_agent'],
  ...['sleeptime_agent', 'voice_convo_agent', 'voice_sleeptime_agent'],
] as const

export const newAgentBody = z.object({
  name: name.nullish(),
  agent_type: z.enum(AGENT_TYPES).nullish(),
  memory_blocks: z.array(newBlockBody).max(200).nullish(),
  tools: z.array(z.string()).max(1000).nullish(),
  include_base_tools: z.boolean().nullish(),
  initial_message_sequence: z.array(saidInput).max(10_000).nullish(),
  ...COMMON,
})

export const agentChangeBody = z.object({ name: name.nullish(), ...COMMON })

type Change = z.output<typeof agentChangeBody>

/** The settings after this request; what it leaves out or says null for stays as it is. */
export function settingsFrom(body: Change, before: AgentSettings): AgentSettings {
  const { description, metadata, timezone, hidden, tool_rules } = body
  const said: JsonObject = {}
  for (const key of Object.keys(WIRE) as (keyof typeof WIRE)[]) {
    const value = body[key]
    if (value !== null && value !== undefined) said[key] = value as Json
  }
  const { approvals, others } = splitRules((tool_rules ?? []) as JsonObject[])
  const wire = { ...before.wire, ...said, ...(tool_rules ? { tool_rules: others } : {}) }
  return {
    ...before,
    ...(description === null || description === undefined ? {} : { description }),
    ...(metadata ? { metadata } : {}),
    ...(timezone ? { timezone } : {}),
    ...(hidden === null || hidden === undefined ? {} : { hidden }),
    ...(tool_rules ? { approvals: { ...withoutGrants(before.approvals), ...approvals } } : {}),
    wire,
  }
}

/** All the secrets of a request, where it says any; the second spelling is deprecated. */
export function secretsIn(body: Pick<Change, 'secrets' | 'tool_exec_environment_variables'>) {
  const { secrets, tool_exec_environment_variables: variables } = body
  return secrets || variables ? { ...variables, ...secrets } : undefined
}

/** A list of rules is the whole list: who is not in it needs no approval of its own. */
const withoutGrants = (approvals: AgentSettings['approvals'] = {}): Record<string, boolean> =>
  Object.fromEntries(Object.entries(approvals).filter(([, isRequired]) => !isRequired))

/** Approval is ours to enforce; the other rules are kept as they came, each once. */
function splitRules(all: readonly JsonObject[]): { approvals: Record<string, boolean>; others: JsonObject[] } {
  const approvals: Record<string, boolean> = {}
  const others = new Map<string, JsonObject>()
  for (const rule of all) {
    if (rule.type === 'requires_approval') approvals[String(rule.tool_name)] = true
    else others.set(JSON.stringify(rule), rule)
  }
  return { approvals, others: [...others.values()] }
}

/** The deprecated spelling of a model. */
export function modelIn({ model, llm_config }: Pick<Change, 'model' | 'llm_config'>): string | undefined {
  if (model) return model
  if (!llm_config) return undefined
  if (typeof llm_config.handle === 'string') return llm_config.handle
  const { model_endpoint_type: provider, model: named } = llm_config
  return typeof provider === 'string' && typeof named === 'string' ? `${provider}/${named}` : undefined
}
