import { insertText, replaceText, rewriteText } from '../../../core/block.ts'
import type { Tool } from '../../../ports/tool.ts'
import { defineTool } from '../../define-tool.ts'
import { type EditMemory, editBlock } from './edit-blocks.ts'

export const LABEL = { type: 'string', description: 'The label of the memory block to edit.' }

/** Tools that edit the blocks in an agent's prompt. The prompt itself changes when it is compiled again. */
export function blockTools(editMemory: EditMemory): Tool[] {
  const editedText = (label: string) => (value: string) =>
    `The memory block ${label} has been edited. It now reads:\n${value}`

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
        editMemory(context, (drafts) =>
          editBlock(drafts, label, {
            edit: (block) => insertText(block, new_string, insert_line),
            say: editedText(label),
          }),
        ),
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
        editMemory(context, (drafts) =>
          editBlock(drafts, label, {
            edit: (block) => replaceText(block, old_string, new_string),
            say: editedText(label),
          }),
        ),
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
      run: ({ label, new_memory }, context) =>
        editMemory(context, (drafts) =>
          editBlock(drafts, label, { edit: (block) => rewriteText(block, new_memory), say: editedText(label) }),
        ),
    }),
  ]
}
