import { type Block, type BlockEdit, rewriteText } from '../../../core/block.ts'
import type { Tool } from '../../../ports/tool.ts'
import { defineTool, success } from '../../define-tool.ts'
import { LABEL } from './block-tools.ts'
import { type EditMemory, editBlock, withErrorName } from './edit-blocks.ts'

/** Tools of older agents of the retired server. Most of its functions returned None, which a model saw as this text. */
const NO_RESULT = 'None'

export const coreMemoryTools = (editMemory: EditMemory): Tool[] => [
  ...[
    defineTool<{ label: string; content: string }>({
      name: 'core_memory_append',
      description: 'Adds text at the end of one of your memory blocks.',
      inputSchema: {
        type: 'object',
        properties: { label: LABEL, content: { type: 'string', description: 'The text to add.' } },
        required: ['label', 'content'],
      },
      effects: 'none',
      run: ({ label, content }, context) =>
        editMemory(context, (drafts) =>
          editBlock(drafts, label, {
            edit: (block) => rewriteText(block, block.value === '' ? content : `${block.value}\n${content}`),
            say: () => NO_RESULT,
          }),
        ),
    }),
    defineTool<{ label: string; old_content: string; new_content: string }>({
      name: 'core_memory_replace',
      description: 'Replaces text in one of your memory blocks, wherever it occurs.',
      inputSchema: {
        type: 'object',
        properties: {
          label: LABEL,
          old_content: { type: 'string', description: 'The text to replace, exactly as it is.' },
          new_content: { type: 'string', description: 'What stands there instead; empty to delete.' },
        },
        required: ['label', 'old_content', 'new_content'],
      },
      effects: 'none',
      run: ({ label, old_content, new_content }, context) =>
        editMemory(context, (drafts) =>
          editBlock(drafts, label, {
            edit: (block) => replaceEverywhere(block, old_content, new_content),
            say: () => NO_RESULT,
          }),
        ),
    }),
    defineTool<{ new_memory: string }>({
      name: 'rethink_user_memory',
      description: 'Rewrites what you know about the user, the memory block "human", as a whole.',
      inputSchema: {
        type: 'object',
        properties: { new_memory: { type: 'string', description: 'All of the new text.' } },
        required: ['new_memory'],
      },
      effects: 'none',
      run: ({ new_memory }, context) =>
        editMemory(context, (drafts) => {
          if (drafts.find(USER_BLOCK))
            return editBlock(drafts, USER_BLOCK, {
              edit: (block) => rewriteText(block, new_memory),
              say: () => NO_RESULT,
            })
          const reason = drafts.create(USER_BLOCK, { value: new_memory, description: 'What you know about the user.' })
          return reason === undefined ? { type: 'done', output: NO_RESULT } : { type: 'refused', reason }
        }),
    }),
  ].map(withErrorName),
  defineTool({
    name: 'memory_finish_edits',
    description: 'Says that you have finished editing your memory.',
    inputSchema: { type: 'object', properties: {} },
    effects: 'none',
    run: async () => success(NO_RESULT),
  }),
]

const USER_BLOCK = 'human'

function replaceEverywhere(block: Block, before: string, after: string): BlockEdit {
  if (before === '' || !block.value.includes(before))
    return { type: 'refused', reason: `Old content '${before}' not found in memory block '${block.label}'` }
  return rewriteText(block, block.value.split(before).join(after))
}
