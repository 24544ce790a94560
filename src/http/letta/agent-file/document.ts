import { defined } from '../../../core/defined.ts'
import type { Json, JsonObject } from '../../../core/json.ts'
import type { ExportedAgent } from '../../../service/agents/agent-file.ts'
import type { ServiceContext } from '../../../service/service-context.ts'
import type { WireAgent } from '../wire/agent-schema.ts'
import { ALL_PARTS, agentState } from '../wire/agent-state.ts'
import { wireBlock } from '../wire/block.ts'
import { wireTool } from '../wire/tool.ts'
import { encodeMessage } from './messages.ts'

/** Encodes an agent as a file. Ids are local to the file. */
export async function encodeAgentFile(exported: ExportedAgent, context: ServiceContext) {
  const { blocks, tools } = exported
  return {
    agents: [await encodeAgent(exported, context)],
    blocks: blocks.map((block, index) => ({ ...wireBlock(block), id: `block-${index}` })),
    tools: tools.map((tool, index) => ({ ...wireTool(tool), id: `tool-${index}` })),
    groups: [],
    files: [],
    sources: [],
    mcp_servers: [],
    metadata: {},
    created_at: new Date(context.deps.clock.now()).toISOString(),
  }
}

async function encodeAgent(exported: ExportedAgent, context: ServiceContext) {
  const { agent, blocks, tools, tags, passages } = exported
  const state = await agentState(agent, ALL_PARTS, context)
  const wire = agent.settings?.wire
  return {
    id: 'agent-0',
    name: agent.name,
    system: agent.system,
    agent_type: state.agent_type,
    description: state.description,
    metadata: agent.settings?.metadata ?? null,
    tags,
    model: agent.model,
    // Other servers ignore this field.
    fallback: agent.fallback,
    llm_config: withoutDefaults(state.llm_config, wire?.model_settings),
    model_settings: storedValue(wire, 'model_settings'),
    embedding: state.embedding,
    embedding_config: state.embedding_config,
    tool_rules: state.tool_rules,
    compaction_settings: state.compaction_settings,
    response_format: state.response_format,
    context_window_limit: storedValue(wire, 'context_window_limit'),
    timezone: state.timezone,
    hidden: state.hidden,
    enable_sleeptime: state.enable_sleeptime,
    message_buffer_autoclear: state.message_buffer_autoclear,
    max_files_open: state.max_files_open,
    per_file_view_window_char_limit: state.per_file_view_window_char_limit,
    parallel_tool_calls: storedValue(wire, 'parallel_tool_calls'),
    memory_blocks: [],
    tools: [],
    initial_message_sequence: null,
    include_base_tools: false,
    // Names only: files are shared, so they contain no secret values.
    tool_exec_environment_variables: Object.fromEntries(state.secrets.map(({ key }) => [key, ''])),
    secrets: null,
    source_ids: [],
    folder_ids: [],
    group_ids: [],
    tool_ids: tools.map((_, index) => `tool-${index}`),
    block_ids: blocks.map((_, index) => `block-${index}`),
    ...exportedHistory(exported),
    files_agents: [],
    passages: passages.map(({ text, tags: own, createdAt }) => ({
      text,
      tags: own,
      created_at: new Date(createdAt).toISOString(),
    })),
  }
}

/** Without the values that stand for the default of the model: an import would set them. */
function withoutDefaults(config: WireAgent['llm_config'], settings: Json | undefined) {
  const { temperature, parallel_tool_calls, ...others } = config
  const stored = (settings ?? {}) as JsonObject
  return {
    ...others,
    ...defined({
      temperature: typeof stored.temperature === 'number' ? temperature : undefined,
      parallel_tool_calls: typeof stored.parallel_tool_calls === 'boolean' ? parallel_tool_calls : undefined,
    }),
  }
}

/** The system prompt is the first message of the context. */
function exportedHistory({ agent, prompt, messages, contextStart }: ExportedAgent) {
  const { createdAt } = agent
  const first = {
    createdAt,
    position: contextStart,
    body: { role: 'system', content: [{ type: 'text', text: prompt }] },
  }
  const all = [first as Pick<ExportedAgent['messages'][number], 'body' | 'createdAt' | 'position'>, ...messages]
  return {
    in_context_message_ids: all.flatMap(({ position }, index) =>
      position >= contextStart ? [`message-${index}`] : [],
    ),
    messages: all.map((message, index) => ({ ...encodeMessage(message, `message-${index}`), agent_id: 'agent-0' })),
  }
}

const storedValue = (wire: JsonObject | undefined, key: string) => wire?.[key] ?? null
