import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { Agent } from '../../../core/agent.ts'
import { defined } from '../../../core/defined.ts'
import { uuidFrom } from '../../../core/id.ts'
import type { Json, JsonObject } from '../../../core/json.ts'
import { parseTarget } from '../../../core/target.ts'
import { blocksOf } from '../../../service/agents/agent-blocks.ts'
import { type Secrets, secretsOf } from '../../../service/agents/agent-secrets.ts'
import { toolsOf } from '../../../service/agents/agent-tools.ts'
import { tagsOf } from '../../../service/agents/agents.ts'
import { readConversationState, requireConversation } from '../../../service/conversations/conversations.ts'
import type { ServiceContext } from '../../../service/service-context.ts'
import { texts } from '../../field.ts'
import { partlyWithoutEffect } from '../../field-fate.ts'
import { wireDate } from '../../wire-date.ts'
import { endpointType } from '../model-handle.ts'
import { wireSessionExpiry } from '../session-expiry-body.ts'
import { windowOf } from '../window-limit.ts'
import type { WireAgent, WireLlmConfig, WireSecret } from './agent-schema.ts'
import { wireBlock } from './block.ts'
import { shownIds } from './conversation.ts'
import { embeddingConfig } from './embedding-config.ts'
import { pendingRequest } from './message.ts'
import { wireTool } from './tool.ts'

const PARTS = [
  'blocks',
  'tools',
  'tags',
  'sources',
  'secrets',
  'identities',
  'managed_group',
  'pending_approval',
] as const
type Part = (typeof PARTS)[number] | 'required_embedding_config'

/** The parts of an agent that an answer holds only when the request includes them. */
type Includes = ReadonlySet<Part>

export const ALL_PARTS: Includes = new Set(PARTS)

const INCLUDE =
  'Parts of the agent to return, such as `agent.blocks` or `agent.tools`, or `none`. Without it, the official client gets none and other clients get all.'

const isPart = (name: unknown): boolean =>
  typeof name !== 'string' ||
  name === '' ||
  name === 'none' ||
  PARTS.some((part) => name === part || name === `agent.${part}`)

const parts = (text: string) =>
  partlyWithoutEffect(texts.optional(), {
    text,
    why: `an agent has no such part; it has ${PARTS.join(', ')}.`,
    asks: (value) => ![value].flat().every(isPart),
  })

export const includeQuery = z.object({
  include: parts(INCLUDE),
  include_relationships: parts('Older form of `include`, such as `blocks` or `tools`.'),
})

export const isSdk = (headers: IncomingHttpHeaders): boolean => headers['x-stainless-package-version'] !== undefined

/** The official client before 1.0 requires fields that later versions know as nullable. */
const isBefore1 = (headers: IncomingHttpHeaders): boolean => headers['x-fern-sdk-version'] !== undefined

const ALL_PARTS_BEFORE_1: Includes = new Set([...PARTS, 'required_embedding_config'])

/** All parts, as the client of these headers reads them. */
export const allPartsFor = (headers: IncomingHttpHeaders): Includes =>
  isBefore1(headers) ? ALL_PARTS_BEFORE_1 : ALL_PARTS

type IncludeQuery = { include?: string[] | undefined; include_relationships?: string[] | undefined }

/** The official client names the parts it wants; a request of another client that names none gets all of them. */
export function includesOf({ include, include_relationships }: IncludeQuery, headers: IncomingHttpHeaders): Includes {
  const named = [...(include ?? []), ...(include_relationships ?? [])]
  if (named.length === 0) return isSdk(headers) ? new Set() : allPartsFor(headers)
  return new Set(
    [...allPartsFor(headers)].filter(
      (part) => part === 'required_embedding_config' || named.includes(part) || named.includes(`agent.${part}`),
    ),
  )
}

export const agentStates = (
  agents: readonly Agent[],
  includes: Includes,
  serviceContext: ServiceContext,
): Promise<WireAgent[]> => Promise.all(agents.map((agent) => agentState(agent, includes, serviceContext)))

export async function agentState(agent: Agent, includes: Includes, serviceContext: ServiceContext): Promise<WireAgent> {
  const none = async <T>(): Promise<T[]> => []
  const [blocks, tools, tags, { conversation, standing }] = await Promise.all([
    includes.has('blocks') ? blocksOf(agent, serviceContext) : none<never>(),
    includes.has('tools') ? toolsOf(agent, serviceContext) : none<never>(),
    includes.has('tags') ? tagsOf(agent, serviceContext) : none<string>(),
    defaultConversationState(agent, serviceContext),
  ])
  const { context: contextMessages, waiting, lastRun } = standing
  const pending = includes.has('pending_approval') && waiting ? (pendingRequest(waiting) ?? null) : null
  const { settings = {} } = agent
  const wire = settings.wire ?? {}
  const agent_type = settings.agentType ?? 'letta_v1_agent'
  const wireBlocks = blocks.map(wireBlock)
  const known = includes.has('secrets') ? secretsOf(agent, serviceContext) : {}
  const secrets = known === 'unreadable' ? [] : wireSecrets(agent, known, serviceContext)
  return {
    id: agent.id,
    name: agent.name,
    system: agent.system,
    agent_type,
    description: settings.description ?? null,
    metadata: metadataOf(agent, known === 'unreadable'),
    model: agent.model,
    fallback: agent.fallback,
    embedding: wire.embedding ?? null,
    embedding_config: embeddingConfig(agent, { isRequired: includes.has('required_embedding_config') }, serviceContext),
    llm_config: llmConfig(agent, serviceContext),
    model_settings: modelSettings(agent),
    response_format: responseFormat(agent),
    compaction_settings: wire.compaction_settings ?? null,
    memory: { blocks: wireBlocks, file_blocks: [], agent_type, git_enabled: false, prompt_template: '' },
    blocks: wireBlocks,
    tools: tools.map(wireTool),
    tags: tags,
    sources: [],
    secrets,
    tool_exec_environment_variables: secrets,
    identities: [],
    identity_ids: [],
    tool_rules: toolRules(agent, serviceContext),
    message_ids: shownIds(conversation, { context: contextMessages, isWaiting: waiting !== undefined }),
    pending_approval: pending,
    managed_group: null,
    multi_agent_group: null,
    last_stop_reason: lastRun.stopReason ?? null,
    last_run_completion: lastRun.completedAt === undefined ? null : wireDate(lastRun.completedAt),
    last_run_duration_ms: lastRun.durationMs ?? null,
    timezone: settings.timezone ?? 'UTC',
    hidden: settings.hidden ?? null,
    when_busy: settings.whenBusy ?? null,
    session_expiry: wireSessionExpiry(settings.sessionExpiry),
    command_approval: settings.commandApproval ?? null,
    egress: settings.egress ?? [],
    message_buffer_autoclear: wire.message_buffer_autoclear ?? false,
    enable_sleeptime: wire.enable_sleeptime ?? null,
    max_files_open: wire.max_files_open ?? null,
    per_file_view_window_char_limit: wire.per_file_view_window_char_limit ?? null,
    project_id: null,
    template_id: null,
    base_template_id: null,
    deployment_id: null,
    entity_id: null,
    created_at: wireDate(agent.createdAt),
    updated_at: wireDate(agent.updatedAt),
    created_by_id: null,
    last_updated_by_id: null,
  }
}

const wireSecrets = (agent: Agent, secrets: Secrets, serviceContext: ServiceContext): WireSecret[] =>
  Object.entries(secrets).map(([key, value]) => ({
    // Secrets have no rows: their ids follow from their names.
    id: `agent-env-${uuidFrom(serviceContext.deps.digest(`${agent.id}\n${key}`))}`,
    key,
    value,
    agent_id: agent.id,
    description: null,
    created_at: null,
    updated_at: null,
    created_by_id: null,
    last_updated_by_id: null,
  }))

/** One read of the default conversation, so that a pending approval is also in the message ids. */
async function defaultConversationState(agent: Agent, serviceContext: ServiceContext) {
  const conversation = await requireConversation(agent, undefined, serviceContext)
  return { conversation, standing: await readConversationState(conversation.id, serviceContext) }
}

/** The metadata also names what was requested and the agent does not have. */
function metadataOf({ settings }: Agent, areSecretsUnreadable: boolean): JsonObject | null {
  const { metadata, missingTools: tools = [], notImported: left = [] } = settings ?? {}
  if (tools.length + left.length === 0 && !areSecretsUnreadable) return metadata ?? null
  return {
    ...metadata,
    ...defined({
      missing_tools: tools.length > 0 ? tools : undefined,
      not_imported: left.length > 0 ? left : undefined,
      unreadable_secrets: areSecretsUnreadable ? true : undefined,
    }),
  }
}

/** A tool that needs approval is listed as a rule, whether the agent or the tool itself requires it. */
function toolRules({ tools, settings }: Agent, serviceContext: ServiceContext): JsonObject[] {
  const storedRules = (settings?.wire?.tool_rules ?? []) as JsonObject[]
  const approvals = settings?.approvals ?? {}
  const asking = tools.filter((name) => approvals[name] ?? serviceContext.deps.tools.find(name)?.needsApproval ?? false)
  const rules = asking.map((tool_name) => ({ tool_name, type: 'requires_approval', prompt_template: null }))
  return [...storedRules, ...rules]
}

function llmConfig(agent: Agent, serviceContext: ServiceContext): WireLlmConfig {
  const { provider, model } = parseTarget(agent.model) ?? { provider: '', model: agent.model }
  const wire = agent.settings?.wire ?? {}
  const settings = modelSettings(agent)
  return {
    model,
    handle: agent.model,
    provider_name: provider,
    provider_category: 'base',
    model_endpoint_type: endpointType(provider),
    model_endpoint: null,
    model_wrapper: null,
    context_window: windowOf(agent, serviceContext),
    temperature: settings.temperature ?? 1,
    max_tokens: settings.max_output_tokens ?? wire.max_tokens ?? null,
    parallel_tool_calls: settings.parallel_tool_calls ?? true,
    strict: settings.strict ?? false,
    enable_reasoner: wire.enable_reasoner ?? true,
    reasoning_effort: objectOf(settings.reasoning).reasoning_effort ?? null,
    max_reasoning_tokens: objectOf(settings.thinking).budget_tokens ?? 0,
    put_inner_thoughts_in_kwargs: false,
    response_format: responseFormat(agent),
    display_name: null,
    effort: settings.effort ?? null,
    verbosity: settings.verbosity ?? null,
    frequency_penalty: settings.frequency_penalty ?? null,
    tier: null,
    compatibility_type: null,
  }
}

const responseFormat = ({ settings }: Agent): Json => {
  const wire = settings?.wire ?? {}
  const { response_format, response_schema } = objectOf(wire.model_settings)
  return response_format ?? response_schema ?? wire.response_format ?? null
}

const objectOf = (value: Json | undefined): JsonObject => (value ?? {}) as JsonObject

function modelSettings({ model, settings }: Agent): JsonObject {
  const stored = (settings?.wire?.model_settings ?? {}) as JsonObject
  const provider_type = endpointType(parseTarget(model)?.provider ?? '')
  return { parallel_tool_calls: settings?.wire?.parallel_tool_calls ?? true, ...stored, provider_type }
}
