/** Tools that only make sense for an agent with memory. */
export const MEMORY_TOOLS: readonly string[] = [
  'memory_insert',
  'memory_replace',
  'memory_rethink',
  'conversation_search',
  'archival_memory_insert',
  'archival_memory_search',
]

/** Tools that work on this machine. Nobody has them who did not ask for them by name. */
export const WORKSPACE_TOOLS: readonly string[] = [
  'shell',
  'process',
  'read_file',
  'write_file',
  'edit_file',
  'search_files',
]

/** Tools that show what a turn can do. The scripted model calls them, so only agents on it have them by default. */
export const DEMO_TOOLS: readonly string[] = [
  'write_note',
  'read_notes',
  'erase_notes',
  'slow_count',
  'roll_dice',
  'send_postcard',
]

/** What an agent gets unless it says that it wants none. */
export const BASE_TOOLS: readonly string[] = [
  'conversation_search',
  'archival_memory_insert',
  'archival_memory_search',
  'memory_replace',
  'memory_insert',
]

/** What the official client calls the kinds of our own tools. */
export function builtinToolType(name: string): 'letta_core' | 'letta_memory_core' | 'letta_builtin' {
  if (!MEMORY_TOOLS.includes(name)) return 'letta_builtin'
  return name.startsWith('memory_') ? 'letta_memory_core' : 'letta_core'
}
