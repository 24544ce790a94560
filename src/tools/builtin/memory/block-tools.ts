import { type Block, type BlockEdit, insertText, replaceText, rewriteText } from '../../../core/block.ts'
import { defined } from '../../../core/defined.ts'
import { DEFAULT_ORGANIZATION } from '../../../core/id.ts'
import type { Tool, ToolAnswer, ToolContext } from '../../../ports/tool.ts'
import { defineTool, failure } from '../../define-tool.ts'
import type { MemoryToolDeps } from './memory-tool-deps.ts'

const LABEL = { type: 'string', description: 'The label of the memory block to edit.' }

/** Tools that edit the blocks in an agent's prompt. The prompt itself changes when it is compiled again. */
export function blockTools({ store }: Pick<MemoryToolDeps, 'store'>): Tool[] {
  const editBlock = async (
    label: string,
    context: ToolContext,
    edit: (block: Block) => BlockEdit,
  ): Promise<ToolAnswer> => {
    const blocks = await store.prompts.blocks(context.organizationId ?? DEFAULT_ORGANIZATION, context.conversationId)
    const block = blocks.find((one) => one.label === label)
    if (!block) {
      const labels = blocks.map((one) => one.label).join(', ')
      return failure(`There is no memory block labeled "${label}". ${labels ? `Blocks: ${labels}.` : 'You have none.'}`)
    }
    const edited = edit(block)
    if (edited.type === 'refused') return failure(edited.reason)
    const { id: blockId, version } = block
    return {
      status: 'success',
      output: `The memory block ${label} has been edited. It now reads:\n${edited.value}`,
      ...defined({
        writes:
          edited.value === block.value
            ? undefined
            : [{ type: 'replace-block' as const, blockId, value: edited.value, version }],
      }),
    }
  }

  return [
    defineTool<{ label: string; new_string: string; insert_line?: number }>({
      name: 'memory_insert',
      description: 'Inserts text at a line of one of your memory blocks, or at its end.',
      inputSchema: {
        type: 'object',
        properties: {
          label: LABEL,
          new_string: { type: 'string', description: 'The text to insert, without line numbers.' },
          insert_line: {
            type: 'integer',
            description: 'The line after which to insert; 0 is the beginning, -1 (the default) the end.',
          },
        },
        required: ['label', 'new_string'],
      },
      effects: 'none',
      run: ({ label, new_string, insert_line = -1 }, context) =>
        editBlock(label, context, (block) => insertText(block, new_string, insert_line)),
    }),
    defineTool<{ label: string; old_string: string; new_string: string }>({
      name: 'memory_replace',
      description: 'Replaces text in one of your memory blocks. The old text must occur exactly once in it.',
      inputSchema: {
        type: 'object',
        properties: {
          label: LABEL,
          old_string: { type: 'string', description: 'The text to replace, exactly as it is, without line numbers.' },
          new_string: { type: 'string', description: 'What stands there instead; empty to delete.' },
        },
        required: ['label', 'old_string', 'new_string'],
      },
      effects: 'none',
      run: ({ label, old_string, new_string }, context) =>
        editBlock(label, context, (block) => replaceText(block, old_string, new_string)),
    }),
    defineTool<{ label: string; new_memory: string }>({
      name: 'memory_rethink',
      description: 'Rewrites one of your memory blocks as a whole, to condense or reorganize what it says.',
      inputSchema: {
        type: 'object',
        properties: { label: LABEL, new_memory: { type: 'string', description: 'All of the new text.' } },
        required: ['label', 'new_memory'],
      },
      effects: 'none',
      run: ({ label, new_memory }, context) => editBlock(label, context, (block) => rewriteText(block, new_memory)),
    }),
  ]
}
