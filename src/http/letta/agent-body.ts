import { z } from 'zod'
import { ADMISSION_POLICIES } from '../../core/admission.ts'
import type { AgentSettings } from '../../core/agent.ts'
import { COMMAND_APPROVALS } from '../../core/command-approval.ts'
import { defined } from '../../core/defined.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { isTimeZone } from '../../core/zoned-time.ts'
import { withOwnSettings } from '../../service/agents/agents.ts'
import { MAX_FALLBACK } from '../../service/agents/model-chain.ts'
import { id, record } from '../field.ts'
import { partlyWithoutEffect, refusedList, refusedValue, withoutEffect } from '../field-fate.ts'
import { compactionBody } from './compaction-body.ts'
import { egressBody } from './egress-body.ts'
import {
  AGENT_SETTINGS,
  budgetBody,
  llmConfigBody,
  maxTokensBody,
  mergedSettings,
  modelSettingsBody,
  responseFormatBody,
} from './model-settings-body.ts'
import { plainInput } from './send-body.ts'
import { sessionExpiryBody, toSessionExpiry } from './session-expiry-body.ts'
import { toolRuleBody } from './tool-rule-body.ts'
import { windowLimitBody } from './window-limit.ts'
import { newBlockBody } from './wire/block.ts'

const READ_FROM_RUNS = 'it follows from the runs of the agent.'
const NO_FILES = 'Holdfast has no files.'
const NO_PROJECTS = 'Holdfast has no projects; the organization of the API key takes their place.'
const NO_TEMPLATES = 'Holdfast has no templates.'

const name = z.string().min(1).max(500)
const rules = z.array(toolRuleBody).max(1000)

/** Fields that are stored as sent. */
const STORED_FIELDS = {
  compaction_settings: compactionBody,
  context_window_limit: windowLimitBody,
  embedding: z
    .string()
    .nullish()
    .describe(
      'Embedding model of the agent, as provider/model. Without it, or without its provider: that of the server.',
    ),
  embedding_config: withoutEffect(record.nullish(), 'send the embedding model as `embedding`.'),
  max_files_open: withoutEffect(z.number().int().min(0).max(1000).nullish(), NO_FILES),
  per_file_view_window_char_limit: withoutEffect(z.number().int().min(0).nullish(), NO_FILES),
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
    'Deprecated: the model, if there is no `model`, and settings that change those of `model_settings` with the same meaning.',
  ),
  model_settings: modelSettingsBody.describe(AGENT_SETTINGS),
  max_tokens: maxTokensBody.describe('Deprecated: changes `max_output_tokens` of `model_settings`.'),
  max_reasoning_tokens: budgetBody.describe('Deprecated: changes the budget of `thinking` in `model_settings`.'),
  parallel_tool_calls: z.boolean().nullish().describe('Deprecated: changes `parallel_tool_calls` of `model_settings`.'),
  response_format: responseFormatBody.describe('Deprecated: changes `response_format` of `model_settings`.'),
  enable_reasoner: z
    .boolean()
    .nullish()
    .describe('Deprecated: turns reasoning on or off, unless `model_settings` has an effort or a budget.'),
  reasoning: z.boolean().nullish().describe('Deprecated: the same as `enable_reasoner`.'),
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
  timezone: z
    .string()
    .refine((zone) => zone === '' || isTimeZone(zone), 'must be an IANA time zone, such as Europe/Oslo')
    .nullish()
    .describe('IANA time zone of the date in the system prompt.'),
  hidden: withoutEffect(z.boolean().nullish(), 'lists show all agents.'),
  secrets: z
    .record(z.string(), z.string())
    .nullish()
    .describe('Environment of tools that run from source, and keys of web search; stored encrypted.'),
  tool_exec_environment_variables: z.record(z.string(), z.string()).nullish().describe('The older name of `secrets`.'),
  enable_sleeptime: withoutEffect(z.boolean().nullish(), 'Holdfast has no sleeptime agents.'),
  message_buffer_autoclear: withoutEffect(z.boolean().nullish(), 'agents remember earlier messages.'),
  identity_ids: refusedList('Holdfast has no identities.'),
  folder_ids: refusedList('Holdfast has no folders.'),
  source_ids: refusedList('Holdfast has no folders.'),
  project_id: withoutEffect(z.string().nullish(), NO_PROJECTS),
  template_id: withoutEffect(z.string().nullish(), NO_TEMPLATES),
  base_template_id: withoutEffect(z.string().nullish(), NO_TEMPLATES),
  when_busy: z
    .enum(ADMISSION_POLICIES)
    .nullish()
    .describe(
      'What a message does while a turn runs, unless its request says so: see `when_busy` of messages. null: the default of each route. Only Holdfast has this field.',
    ),
  session_expiry: sessionExpiryBody,
  command_approval: z
    .enum(COMMAND_APPROVALS)
    .nullish()
    .describe(
      'Which commands of `shell`, and input of `process`, wait for approval in a sandbox: `ask` all, `destructive` those that destroy or cannot be read, `never` none. null: `destructive`. Without a sandbox all wait. Only Holdfast has this field.',
    ),
  egress: egressBody('Domains that its tools from source may reach, beside those of each tool.'),
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

/** Other types had a loop or background agents of their own. */
const SAME_LOOP: ReadonlySet<unknown> = new Set([
  'letta_v1_agent',
  'memgpt_agent',
  'memgpt_v2_agent',
  'react_agent',
  'workflow_agent',
])

export const newAgentBody = z.object({
  name: name.nullish().describe('Name of the agent. A new agent without one gets a generated name.'),
  agent_type: partlyWithoutEffect(z.enum(AGENT_TYPES).nullish(), {
    text: 'Type of the agent. It decides how the prompt shows blocks (`react_agent` and `workflow_agent` show none) and the base tools: those of `memgpt_agent` and `memgpt_v2_agent` have `send_message`.',
    why: 'agents of this type work like letta_v1_agent here.',
    asks: (type) => typeof type === 'string' && !SAME_LOOP.has(type),
  }),
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
  from_template: refusedValue(NO_TEMPLATES),
  memory_variables: withoutEffect(z.record(z.string(), z.string()).nullish(), NO_TEMPLATES),
  template: withoutEffect(z.boolean().nullish(), NO_TEMPLATES),
  project: withoutEffect(z.string().nullish(), NO_PROJECTS),
  include_base_tool_rules: z
    .boolean()
    .nullish()
    .describe(
      'Whether `send_message` ends the turn of a `memgpt_agent` or `memgpt_v2_agent` that has no `tool_rules`. Default: true.',
    ),
  include_default_source: withoutEffect(z.boolean().nullish(), NO_FILES),
  embedding_chunk_size: withoutEffect(z.int().nullish(), 'passages are not divided.'),
  ...COMMON,
})

export const agentChangeBody = z.object({
  name: name.nullish(),
  tools: newAgentBody.shape.tools.describe('Names of tools. They replace all tools of the agent, with `tool_ids`.'),
  message_ids: refusedValue('the messages of a context cannot be chosen. Summarize or reset the conversation.'),
  last_run_completion: withoutEffect(z.string().nullish(), READ_FROM_RUNS),
  last_run_duration_ms: withoutEffect(z.int().nullish(), READ_FROM_RUNS),
  last_stop_reason: withoutEffect(z.string().nullish(), READ_FROM_RUNS),
  ...COMMON,
})

/**
 * The fields that requests and agent files share. The ids of an agent file are local to the file, so they are excluded.
 */
type AgentFields = Omit<
  z.output<typeof agentChangeBody>,
  'tool_ids' | 'block_ids' | 'identity_ids' | 'folder_ids' | 'source_ids' | 'message_ids' | 'response_format'
> & { response_format?: object | null | undefined }

/** The settings after this request; fields that are missing or null stay unchanged, but null turns off our own. */
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
      context_window_limit: sent.context_window_limit ?? body.llm_config?.context_window ?? undefined,
      enable_reasoner: askedReasoner(body, before.wire?.enable_reasoner),
    }),
  }
  return {
    ...ownSettingsFrom(body, before),
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

/** null turns a setting off: it has no other value for that. */
const ownSettingsFrom = (
  {
    when_busy,
    session_expiry,
    command_approval,
    egress,
  }: Pick<AgentFields, 'when_busy' | 'session_expiry' | 'command_approval' | 'egress'>,
  before: AgentSettings,
): AgentSettings =>
  withOwnSettings({
    whenBusy: when_busy,
    commandApproval: command_approval,
    egress,
    sessionExpiry: session_expiry ? toSessionExpiry(session_expiry) : session_expiry,
  })(before)
/** True in `llm_config` is a default of older servers, so it only undoes a false. */
function askedReasoner({ enable_reasoner, reasoning, llm_config }: AgentFields, before: Json | undefined) {
  const asked = enable_reasoner ?? reasoning
  if (typeof asked === 'boolean') return asked
  const older = llm_config?.enable_reasoner
  if (older === false) return false
  return older === true && before === false ? null : undefined
}

/** Agents of earlier versions have settings beside `model_settings`; a request that sets them replaces them. */
function withoutDeprecated(wire: JsonObject = {}, body: AgentFields): JsonObject {
  const { max_tokens, parallel_tool_calls, response_format, ...others } = wire
  return {
    ...others,
    ...defined({
      max_tokens: typeof body.max_tokens === 'number' ? undefined : max_tokens,
      parallel_tool_calls: typeof body.parallel_tool_calls === 'boolean' ? undefined : parallel_tool_calls,
      response_format: body.response_format || body.llm_config?.response_format ? undefined : response_format,
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
  const { provider_name, model_endpoint_type, model: named } = llm_config
  const provider = provider_name ?? model_endpoint_type
  return typeof provider === 'string' && typeof named === 'string' ? `${provider}/${named}` : undefined
}
