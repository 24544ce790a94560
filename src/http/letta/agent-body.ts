import { z } from 'zod'
import type { AgentSettings } from '../../core/agent.ts'
import { defined } from '../../core/defined.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { parseTarget } from '../../core/target.ts'
import { MAX_FALLBACK } from '../../service/agents/model-chain.ts'
import { id, record } from '../field.ts'
import {
  AGENT_SETTINGS,
  llmConfigBody,
  maxTokensBody,
  mergedSettings,
  modelSettingsBody,
} from './model-settings-body.ts'
import { plainInput } from './send-body.ts'
import { toolRuleBody } from './tool-rule-body.ts'
import { newBlockBody } from './wire/block.ts'

const name = z.string().min(1).max(500)
const rules = z.array(toolRuleBody).max(1000)

const compaction = z.looseObject({
  model: z
    .string()
    .refine((text) => parseTarget(text) !== undefined, 'must be provider/model')
    .nullish(),
  prompt: z.string().nullish().describe('Instructions for the model that writes the summary.'),
  mode: z
    .enum(['sliding_window', 'all', 'self_compact_sliding_window', 'self_compact_all'])
    .nullish()
    .describe(
      '`all` summarizes everything, `sliding_window` the oldest part; `self_` modes use the model of the agent.',
    ),
  sliding_window_percentage: z
    .number()
    .gt(0)
    .max(1)
    .nullish()
    .describe('Minimum share of the context that a sliding window summarizes, from 0 to 1.'),
  clip_chars: z.number().int().min(1).nullish().describe('Maximum number of characters of the summary.'),
})

/** Fields that are stored and returned; some have no effect yet. */
const STORED_FIELDS = {
  compaction_settings: record
    .and(compaction)
    .nullish()
    .describe('How conversations of the agent are summarized when they no longer fit.'),
  context_window_limit: z
    .number()
    .int()
    .min(1)
    .nullish()
    .describe('Accepted and ignored. Returned as sent, also as `llm_config.context_window`.'),
  message_buffer_autoclear: z.boolean().nullish().describe('Accepted and ignored. Returned as sent.'),
  response_format: record.nullish().describe('Accepted and ignored. Returned as sent.'),
  embedding: z
    .string()
    .nullish()
    .describe(
      'Embedding model of the agent, as provider/model. Without it, or without its provider: that of the server.',
    ),
  embedding_config: record.nullish().describe('Accepted and ignored. Returned as sent.'),
  enable_sleeptime: z.boolean().nullish().describe('Accepted and ignored. Returned as sent.'),
  max_files_open: z.number().int().min(0).max(1000).nullish().describe('Accepted and ignored. Returned as sent.'),
  per_file_view_window_char_limit: z
    .number()
    .int()
    .min(0)
    .nullish()
    .describe('Accepted and ignored. Returned as sent.'),
  enable_reasoner: z
    .boolean()
    .nullish()
    .describe('Deprecated: false turns reasoning off, unless `model_settings` has an effort or a budget.'),
}

const COMMON = {
  system: z.string().nullish().describe('Instructions that begin the system prompt; memory is added to them.'),
  model: z
    .string()
    .nullish()
    .describe(
      'Model as provider/model. `letta/auto`, or no model for a new agent, means the default model of the server.',
    ),
  fallback: z
    .array(z.string())
    .max(MAX_FALLBACK)
    .nullish()
    .describe(
      'Failover models, in order, as provider/model. An update replaces all of them; `[]` means the default chain of the server. Only Holdfast has this field.',
    ),
  llm_config: llmConfigBody.describe(
    'Deprecated: without `model`, its `handle`, or `model_endpoint_type` and `model`, is used. `temperature`, `max_tokens`, `parallel_tool_calls`, `reasoning_effort`, `effort` and `max_reasoning_tokens` change `model_settings`. The rest is ignored.',
  ),
  model_settings: modelSettingsBody.describe(AGENT_SETTINGS),
  max_tokens: maxTokensBody.describe('Deprecated: changes `max_output_tokens` of `model_settings`.'),
  parallel_tool_calls: z.boolean().nullish().describe('Deprecated: changes `parallel_tool_calls` of `model_settings`.'),
  tool_ids: z
    .array(id('tool'))
    .max(1000)
    .nullish()
    .describe('Ids of tools. An update replaces all tools of the agent.'),
  block_ids: z
    .array(id('block'))
    .max(1000)
    .nullish()
    .describe('Ids of existing blocks. An update replaces all blocks of the agent.'),
  tags: z.array(z.string().min(1)).max(200).nullish().describe('Tags of the agent. An update replaces all of them.'),
  tool_rules: rules.nullish().describe('Rules about when tools are called. An update replaces all of them.'),
  description: z.string().nullish().describe('What the agent is for.'),
  metadata: record.nullish().describe('Data of the application, stored as it is sent.'),
  timezone: z.string().nullish().describe('Accepted and ignored. Returned as sent.'),
  hidden: z.boolean().nullish().describe('Accepted and ignored. Returned as sent.'),
  secrets: z
    .record(z.string(), z.string())
    .nullish()
    .describe('Secrets by name, stored encrypted. No tool reads them yet. An update replaces all of them.'),
  tool_exec_environment_variables: z.record(z.string(), z.string()).nullish().describe('Deprecated: use `secrets`.'),
  ...STORED_FIELDS,
}

const AGENT_TYPES = [
  'letta_v1_agent',
  'memgpt_agent',
  'memgpt_v2_agent',
  'react_agent',
  'workflow_agent',
  'split_thread_agent',
  'sleeptime_agent',
  'voice_convo_agent',
  'voice_sleeptime_agent',
] as const

export const newAgentBody = z.object({
  name: name.nullish().describe('Name of the agent. A new agent without one gets a generated name.'),
  agent_type: z
    .enum(AGENT_TYPES)
    .nullish()
    .describe(
      'Type of the agent. It decides how the prompt shows blocks; `react_agent` and `workflow_agent` show none.',
    ),
  memory_blocks: z.array(newBlockBody).max(200).nullish().describe('Blocks to create with the agent.'),
  tools: z
    .array(z.string())
    .max(1000)
    .nullish()
    .describe(
      'Names of tools. Unknown names are refused; built-in tools of the retired server that Holdfast does not have are listed in `metadata.missing_tools`.',
    ),
  include_base_tools: z.boolean().nullish().describe('Whether the agent also gets the base tools. Default: true.'),
  initial_message_sequence: z
    .array(plainInput)
    .max(10_000)
    .nullish()
    .describe('First messages of the default conversation.'),
  ...COMMON,
})

export const agentChangeBody = z.object({
  name: name.nullish(),
  tools: newAgentBody.shape.tools.describe('Names of tools. They replace all tools of the agent, with `tool_ids`.'),
  ...COMMON,
})

/**
 * The fields that requests and agent files share. The ids of an agent file are local to the file, so they are excluded.
 */
type AgentFields = Omit<z.output<typeof agentChangeBody>, 'tool_ids' | 'block_ids'>

/** The settings after this request; fields that are missing or null stay unchanged. */
export function settingsFrom(body: AgentFields, before: AgentSettings): AgentSettings {
  const { description, metadata, timezone, hidden, tool_rules } = body
  const sent: JsonObject = {}
  for (const key of Object.keys(STORED_FIELDS) as (keyof typeof STORED_FIELDS)[]) {
    const value = body[key]
    if (value !== null && value !== undefined) sent[key] = value as Json
  }
  const { approvals, others } = splitRules((tool_rules ?? []) as JsonObject[])
  const wire = {
    ...withoutDeprecated(before.wire, body),
    ...sent,
    ...defined({
      tool_rules: tool_rules ? others : undefined,
      model_settings: mergedSettings(body, before.wire?.model_settings),
    }),
  }
  return {
    ...before,
    ...defined({
      description: description === null || description === undefined ? undefined : description,
      metadata: metadata ?? undefined,
      timezone: timezone || undefined,
      hidden: hidden === null || hidden === undefined ? undefined : hidden,
      approvals: tool_rules ? { ...withoutRequired(before.approvals), ...approvals } : undefined,
    }),
    wire,
  }
}

/** Agents of earlier versions have settings beside `model_settings`; a request that sets them replaces them. */
function withoutDeprecated(wire: JsonObject = {}, body: AgentFields): JsonObject {
  const { max_tokens, parallel_tool_calls, ...others } = wire
  return {
    ...others,
    ...defined({
      max_tokens: typeof body.max_tokens === 'number' ? undefined : max_tokens,
      parallel_tool_calls: typeof body.parallel_tool_calls === 'boolean' ? undefined : parallel_tool_calls,
    }),
  }
}

/** All secrets of a request, undefined if it has none; the second field is deprecated. */
export function requestedSecrets(body: Pick<AgentFields, 'secrets' | 'tool_exec_environment_variables'>) {
  const { secrets, tool_exec_environment_variables: variables } = body
  return secrets || variables ? { ...variables, ...secrets } : undefined
}

/** A list of rules replaces the whole list: tools that are not in it no longer require approval. */
const withoutRequired = (approvals: AgentSettings['approvals'] = {}): Record<string, boolean> =>
  Object.fromEntries(Object.entries(approvals).filter(([, isRequired]) => !isRequired))

/**
 * Separates the approval rules, which Holdfast stores as approvals; the other rules are stored as sent, without
 * duplicates.
 */
function splitRules(all: readonly JsonObject[]): { approvals: Record<string, boolean>; others: JsonObject[] } {
  const approvals: Record<string, boolean> = {}
  const others = new Map<string, JsonObject>()
  for (const rule of all) {
    if (rule.type === 'requires_approval') approvals[String(rule.tool_name)] = true
    else others.set(JSON.stringify(rule), rule)
  }
  return { approvals, others: [...others.values()] }
}

/** The model of a request: `model`, or the deprecated `llm_config`. */
export function requestedModel({ model, llm_config }: Pick<AgentFields, 'model' | 'llm_config'>): string | undefined {
  if (model) return model
  if (!llm_config) return undefined
  if (typeof llm_config.handle === 'string') return llm_config.handle
  const { model_endpoint_type: provider, model: named } = llm_config
  return typeof provider === 'string' && typeof named === 'string' ? `${provider}/${named}` : undefined
}
