import { defined } from '../../../core/defined.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { Message } from '../../../core/message.ts'
import type { ExportedAgent } from '../../../service/agents/agent-file.ts'
import type { ServiceContext } from '../../../service/service-context.ts'
import type { WireAgent } from '../wire/agent-schema.ts'
import { ALL_PARTS, agentState } from '../wire/agent-state.ts'
import { wireBlock } from '../wire/block.ts'
import { wireTool } from '../wire/tool.ts'
import { encodeMessage } from './messages.ts'

/** Encodes an agent as the JSON of a file, in pieces: a history can be larger than memory. Ids are local to the file. */
export async function* encodeAgentFile(
  exported: ExportedAgent,
  options: { withMessages: boolean },
  context: ServiceContext,
): AsyncGenerator<string> {
  try {
    yield `{"agents":[${withoutEnd(await encodeAgent(exported, options, context))},"messages":[`
    yield JSON.stringify(encoded(promptMessage(exported), 0))
    if (options.withMessages)
      for await (const message of exported.messages) yield `,${JSON.stringify(encoded(message, message.position + 1))}`
    yield '],"passages":['
    let separator = ''
    for await (const { text, tags, createdAt } of exported.passages) {
      yield separator + JSON.stringify({ text, tags, created_at: new Date(createdAt).toISOString() })
      separator = ','
    }
    yield `]}],${JSON.stringify(otherParts(exported, context)).slice(1)}`
  } catch (fault) {
    // The client sees a file that ends early.
    context.deps.report(fault, `exporting ${exported.agent.id}`)
    throw fault
  }
}

/** A JSON object that fields can be added to. */
const withoutEnd = (value: object): string => JSON.stringify(value).slice(0, -1)

function otherParts({ blocks, tools }: ExportedAgent, context: ServiceContext) {
  return {
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

async function encodeAgent(
  exported: ExportedAgent,
  { withMessages }: { withMessages: boolean },
  context: ServiceContext,
) {
  const { agent, blocks, tools, tags, contextStart, end } = exported
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
    // Other servers ignore these fields.
    fallback: agent.fallback,
    when_busy: state.when_busy,
    session_expiry: state.session_expiry,
    command_approval: state.command_approval,
    llm_config: withoutDefaults(state.llm_config, wire),
    model_settings: storedValue(wire, 'model_settings'),
    embedding: state.embedding,
    embedding_config: storedValue(wire, 'embedding_config'),
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
    enable_reasoner: storedValue(wire, 'enable_reasoner'),
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
    files_agents: [],
    in_context_message_ids: ['message-0', ...(withMessages ? idsBetween(contextStart, end) : [])],
  }
}

/** Without the values that stand for the default of the model: an import would set them. */
function withoutDefaults(config: WireAgent['llm_config'], wire: JsonObject | undefined) {
  const { temperature, parallel_tool_calls, strict, context_window, ...others } = config
  const stored = (wire?.model_settings ?? {}) as JsonObject
  return {
    ...others,
    ...defined({
      temperature: typeof stored.temperature === 'number' ? temperature : undefined,
      strict: typeof stored.strict === 'boolean' ? strict : undefined,
      context_window: wire?.context_window_limit ? context_window : undefined,
      parallel_tool_calls: typeof stored.parallel_tool_calls === 'boolean' ? parallel_tool_calls : undefined,
    }),
  }
}

/** Message 0 of the file is the system prompt, which is the first of the context; the history follows in its order. */
const promptMessage = ({ agent, prompt }: ExportedAgent): Pick<Message, 'body' | 'createdAt'> => ({
  createdAt: agent.createdAt,
  body: { role: 'system', content: [{ type: 'text', text: prompt }] },
})

const idsBetween = (from: number, end: number): string[] =>
  Array.from({ length: Math.max(0, end - from) }, (_, index) => `message-${from + index + 1}`)

function encoded(message: Pick<Message, 'body' | 'createdAt'>, index: number) {
  const { agent_id: _, ...fields } = encodeMessage(message, `message-${index}`)
  return { agent_id: 'agent-0', ...fields }
}

const storedValue = (wire: JsonObject | undefined, key: string) => wire?.[key] ?? null
