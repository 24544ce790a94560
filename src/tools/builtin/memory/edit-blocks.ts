import type { Block, BlockEdit } from '../../../core/block.ts'
import { defined } from '../../../core/defined.ts'
import { DEFAULT_ORGANIZATION } from '../../../core/id.ts'
import { draftMemory, type MemoryDrafts } from '../../../core/memory-drafts.ts'
import type { Tool, ToolAnswer, ToolContext } from '../../../ports/tool.ts'
import { failure } from '../../define-tool.ts'
import type { MemoryToolDeps } from './memory-tool-deps.ts'

export type EditResult = { type: 'done'; output: string } | { type: 'refused'; reason: string }

/** Runs one edit of the memory blocks of a conversation; its changes are committed with the answer. */
export type EditMemory = (context: ToolContext, edit: (drafts: MemoryDrafts) => EditResult) => Promise<ToolAnswer>

export function memoryEditor({ store, randomness }: Pick<MemoryToolDeps, 'store' | 'randomness'>): EditMemory {
  return async ({ organizationId = DEFAULT_ORGANIZATION, agentId, conversationId }, edit) => {
    const [blocks, shared] = await Promise.all([
      store.prompts.blocks(organizationId, conversationId),
      store.blocks.ofAgent(organizationId, agentId),
    ])
    const drafts = draftMemory(blocks, new Set(shared.map(({ id }) => id)))
    const result = edit(drafts)
    if (result.type === 'refused') return failure(result.reason)
    const writes = drafts.writes(() => `block-${randomness.uuid()}`)
    return {
      status: 'success',
      output: result.output,
      ...defined({ writes: writes.length > 0 ? writes : undefined }),
    }
  }
}

/** An edit of one block, with a text for its success. */
export function editBlock(
  drafts: MemoryDrafts,
  label: string,
  { edit, say }: { edit(block: Block): BlockEdit; say(value: string): string },
): EditResult {
  const edited = drafts.edit(label, edit)
  return edited.type === 'refused' ? edited : { type: 'done', output: say(edited.value) }
}

/** A refusal, or the text for a success. */
export const outcome = (refusal: string | undefined, output: string): EditResult =>
  refusal === undefined ? { type: 'done', output } : { type: 'refused', reason: refusal }

/** The result for a tool of the retired server, whose functions raised an exception. */
export const withErrorName = (tool: Tool): Tool => ({
  ...tool,
  async run(input, context) {
    const answer = await tool.run(input, context)
    if (answer.status !== 'error' || answer.output.startsWith('Error executing function')) return answer
    return { ...answer, output: `Error executing function ${tool.name}: ValueError: ${answer.output}` }
  },
})
