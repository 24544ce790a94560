/** Tools that need an agent with memory. */
export const MEMORY_TOOLS: readonly string[] = [
  'memory_insert',
  'memory_replace',
  'memory_rethink',
  'memory',
  'memory_apply_patch',
  'memory_finish_edits',
  'core_memory_append',
  'core_memory_replace',
  'rethink_user_memory',
  'conversation_search',
  'conversation_search_date',
  'archival_memory_insert',
  'archival_memory_search',
]

/** Tools that only agents of the retired server name. An agent has them only if it names them. */
export const OLD_TOOLS: readonly string[] = [
  'send_message',
  'open_files',
  'grep_files',
  'semantic_search_files',
  'send_message_to_agent_and_wait_for_reply',
  'send_message_to_agents_matching_tags',
  'send_message_to_agent_async',
]

/** Tools that work on this machine. An agent has them only if it names them. */
export const WORKSPACE_TOOLS: readonly string[] = [
  'shell',
  'process',
  'read_file',
  'write_file',
  'edit_file',
  'search_files',
  'send_file',
]

/** Tools that read the web. An agent has them only if it names them. */
export const WEB_TOOLS: readonly string[] = ['web_search', 'fetch_webpage']

/** Tools that plan messages to the agent itself. An agent has them only if it names them. */
export const SCHEDULE_TOOLS: readonly string[] = ['create_schedule', 'list_schedules', 'cancel_schedule']

/** Tools that run code of the model. An agent has them only if it names them. */
export const CODE_TOOLS: readonly string[] = ['run_code', 'run_code_with_tools']

/** Tools that show what a turn can do. The scripted model calls them, so only agents on it have them by default. */
export const DEMO_TOOLS: readonly string[] = [
  'write_note',
  'read_notes',
  'erase_notes',
  'slow_count',
  'roll_dice',
  'send_postcard',
]

/** The default tools of an agent, unless it opts out. */
export const BASE_TOOLS: readonly string[] = [
  'conversation_search',
  'archival_memory_insert',
  'archival_memory_search',
  'memory_replace',
  'memory_insert',
]

const SPEAKING_TOOLS = ['send_message', 'conversation_search', 'archival_memory_insert', 'archival_memory_search']

/** The base tools of the agent types of the retired server that speak by calling `send_message`, which ends their turn. */
const SPEAKING_TYPES: Readonly<Record<string, readonly string[]>> = {
  memgpt_agent: [...SPEAKING_TOOLS, 'core_memory_append', 'core_memory_replace'],
  memgpt_v2_agent: [...SPEAKING_TOOLS, 'memory_replace', 'memory_insert'],
}

export const speaksByTool = (agentType: string | null | undefined): boolean =>
  Object.hasOwn(SPEAKING_TYPES, agentType ?? '')

export const baseToolsOf = (agentType: string | null | undefined): readonly string[] =>
  speaksByTool(agentType) ? SPEAKING_TYPES[agentType!]! : BASE_TOOLS

/**
 * The built-in tools of the retired server. Clients name them in requests, so an agent is created without those that
 * Holdfast does not have.
 */
export const RETIRED_TOOLS: readonly string[] = [...MEMORY_TOOLS, ...OLD_TOOLS, ...WEB_TOOLS, ...CODE_TOOLS]

type ToolType =
  | 'letta_core'
  | 'letta_memory_core'
  | 'letta_voice_sleeptime_core'
  | 'letta_multi_agent_core'
  | 'letta_files_core'
  | 'letta_builtin'

/** Of those that differ from their neighbors; as the retired server listed them. */
const TYPE_OF: Readonly<Record<string, ToolType>> = {
  send_message: 'letta_core',
  memory: 'letta_memory_core',
  rethink_user_memory: 'letta_voice_sleeptime_core',
  open_files: 'letta_files_core',
  grep_files: 'letta_files_core',
  semantic_search_files: 'letta_files_core',
  send_message_to_agent_and_wait_for_reply: 'letta_multi_agent_core',
  send_message_to_agents_matching_tags: 'letta_multi_agent_core',
  send_message_to_agent_async: 'letta_multi_agent_core',
}

/** The official client's type for a built-in tool. */
export function builtinToolType(name: string): ToolType {
  const known = Object.hasOwn(TYPE_OF, name) ? TYPE_OF[name] : undefined
  if (known) return known
  if (!MEMORY_TOOLS.includes(name)) return 'letta_builtin'
  return /^(core_)?memory_/.test(name) ? 'letta_memory_core' : 'letta_core'
}
