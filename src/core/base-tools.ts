/** Tools that need an agent with memory. */
export const MEMORY_TOOLS: readonly string[] = [
  'memory_insert',
  'memory_replace',
  'memory_rethink',
  'conversation_search',
  'archival_memory_insert',
  'archival_memory_search',
]

/** Tools that work on this machine. An agent has them only if it names them. */
export const WORKSPACE_TOOLS: readonly string[] = [
  'shell',
  'process',
  'read_file',
  'write_file',
  'edit_file',
  'search_files',
]

/** Tools that read the web. An agent has them only if it names them. */
export const WEB_TOOLS: readonly string[] = ['web_search', 'fetch_webpage']

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

/**
 * The built-in tools of the retired server. Clients name them in requests, so an agent is created without those that
 * Holdfast does not have.
 */
export const RETIRED_TOOLS: readonly string[] = [
  ...MEMORY_TOOLS,
  'send_message',
  'core_memory_append',
  'core_memory_replace',
  'memory',
  'memory_apply_patch',
  'memory_finish_edits',
  'run_code',
  'run_code_with_tools',
  ...WEB_TOOLS,
  'open_files',
  'grep_files',
  'semantic_search_files',
  'send_message_to_agent_and_wait_for_reply',
  'send_message_to_agents_matching_tags',
  'send_message_to_agent_async',
]

/** The official client's type for a built-in tool. */
export function builtinToolType(name: string): 'letta_core' | 'letta_memory_core' | 'letta_builtin' {
  if (!MEMORY_TOOLS.includes(name)) return 'letta_builtin'
  return name.startsWith('memory_') ? 'letta_memory_core' : 'letta_core'
}
