import type { Tool } from '../../../ports/tool.ts'
import { archivalTools } from './archival-tools.ts'
import { blockTools } from './block-tools.ts'
import { conversationSearch } from './conversation-search.ts'
import type { MemoryWorld } from './world.ts'

/** Tools with which an agent keeps and finds what it knows. */
export const memoryTools = (world: MemoryWorld): Tool[] => [
  ...blockTools(world),
  ...archivalTools(world),
  conversationSearch(world),
]
