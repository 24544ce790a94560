import type { Tool } from '../../../ports/tool.ts'
import { archivalTools } from './archival-tools.ts'
import { blockTools } from './block-tools.ts'
import { conversationSearch } from './conversation-search.ts'
import type { MemoryToolDeps } from './memory-tool-deps.ts'

/** Tools with which an agent stores and finds its memory. */
export const memoryTools = (deps: MemoryToolDeps): Tool[] => [
  ...blockTools(deps),
  ...archivalTools(deps),
  conversationSearch(deps),
]
