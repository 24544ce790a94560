import type { Tool } from '../../../ports/tool.ts'
import { yieldingToStored } from '../../define-tool.ts'
import { applyMemoryPatch } from './apply-memory-patch.ts'
import { archivalTools } from './archival-tools.ts'
import { blockTools } from './block-tools.ts'
import { conversationSearch, conversationSearchByDate } from './conversation-search.ts'
import { coreMemoryTools } from './core-memory-tools.ts'
import { memoryEditor } from './edit-blocks.ts'
import { memoryTool } from './memory-tool.ts'
import type { MemoryToolDeps } from './memory-tool-deps.ts'

/** Tools with which an agent stores and finds its memory. */
export function memoryTools(deps: MemoryToolDeps): Tool[] {
  const editMemory = memoryEditor(deps)
  return [
    ...blockTools(editMemory),
    ...[memoryTool(editMemory), applyMemoryPatch(editMemory), ...coreMemoryTools(editMemory)].map(yieldingToStored),
    ...archivalTools(deps),
    conversationSearch(deps),
    yieldingToStored(conversationSearchByDate(deps)),
  ]
}
