import { rewriteText } from '../../../core/block.ts'
import type { MemoryDrafts } from '../../../core/memory-drafts.ts'
import { applyLinePatch, namesBlocks, type PatchOperation, parsePatch } from '../../../core/memory-patch.ts'
import type { Tool } from '../../../ports/tool.ts'
import { defineTool } from '../../define-tool.ts'
import { LABEL } from './block-tools.ts'
import { type EditMemory, type EditResult, editBlock, outcome, withErrorName } from './edit-blocks.ts'

/** Edits several places, or several blocks, in one call: all of it or nothing. */
export const applyMemoryPatch = (editMemory: EditMemory): Tool =>
  withErrorName(
    defineTool<{ label?: string | null; patch: string }>({
      name: 'memory_apply_patch',
      description:
        'Applies a patch to your memory blocks. Lines begin with a space (context), - (removed) or + (added); @@ separates places. For several blocks, begin each part with "*** Add Block: label" (then an optional line "Description: text"), "*** Update Block: label", "*** Delete Block: label" or "*** Move to: new label". Write no line numbers.',
      inputSchema: {
        type: 'object',
        properties: {
          label: {
            ...LABEL,
            type: ['string', 'null'],
            description: 'The block to patch; empty if the patch names its blocks.',
          },
          patch: { type: 'string', description: 'The patch.' },
        },
        required: ['patch'],
      },
      effects: 'none',
      run: ({ label, patch }, context) =>
        editMemory(context, (drafts) => {
          if (/^[ +-]?\d+→/m.test(patch))
            return refused(
              'Patch contains a line number prefix, which is not allowed. Line numbers are for display only.',
            )
          if (namesBlocks(patch)) return applyOperations(patch, drafts)
          return label ? patchBlock(drafts, label, patch) : refused('label is required for a patch that names no block')
        }),
    }),
  )

const refused = (reason: string): EditResult => ({ type: 'refused', reason })

function patchBlock(drafts: MemoryDrafts, label: string, patch: string): EditResult {
  return editBlock(drafts, label, {
    edit(block) {
      const patched = applyLinePatch(block.value, patch)
      return patched.type === 'refused' ? patched : rewriteText(block, patched.value)
    },
    say: (value) => value,
  })
}

function applyOperations(patch: string, drafts: MemoryDrafts): EditResult {
  const operations = parsePatch(patch)
  if (typeof operations === 'string') return refused(operations)
  const completed: string[] = []
  for (const operation of operations) {
    const result = applyOperation(operation, drafts)
    if (result.type === 'refused') return refused(`${result.reason} Nothing was changed.`)
    completed.push(result.output)
  }
  return {
    type: 'done',
    output: `Successfully applied memory patch operations.\n\nOperations completed:\n- ${completed.join('\n- ')}`,
  }
}

function applyOperation(operation: PatchOperation, drafts: MemoryDrafts): EditResult {
  const { label } = operation
  switch (operation.type) {
    case 'add': {
      const { value, description } = operation
      return outcome(drafts.create(label, { value, description }), `Created memory block '${label}'`)
    }
    case 'delete':
      return outcome(drafts.detach(label), `Deleted memory block '${label}'`)
    case 'rename':
      return outcome(drafts.rename(label, operation.to), `Renamed memory block '${label}' to '${operation.to}'`)
    case 'update': {
      const patched = patchBlock(drafts, label, operation.patch)
      return patched.type === 'refused' ? patched : { type: 'done', output: `Updated memory block '${label}'` }
    }
  }
}
