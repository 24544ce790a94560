import { type Block, type BlockEdit, cleanText, DEFAULT_BLOCK_LIMIT, limitFault } from './block.ts'
import { defined } from './defined.ts'
import type { BlockId } from './id.ts'
import type { ToolWrite } from './tool-write.ts'

/** What one call has done to a block so far. A draft without `block` is new. */
type Draft = { block?: Block; label: string; value: string; description?: string; isDetached: boolean }

/** Why a change is refused, worded for the model; undefined if it was made. */
type Refusal = string | undefined

/** The memory blocks of a conversation while one call edits them. Nothing is written before the call commits. */
export type MemoryDrafts = {
  labels(): string[]
  find(label: string): Block | undefined
  create(label: string, draft: { value: string; description?: string }): Refusal
  edit(label: string, edit: (block: Block) => BlockEdit): BlockEdit
  detach(label: string): Refusal
  rename(label: string, to: string): Refusal
  describe(label: string, description: string): Refusal
  /** The changes to commit with the result of the call. `newId` is called once for each new block. */
  writes(newId: () => BlockId): ToolWrite[]
}

const MAX_LABEL = 200

/** `shared`: the blocks of the agent; others belong to the conversation alone and keep their names. */
export function draftMemory(blocks: readonly Block[], shared: ReadonlySet<BlockId>): MemoryDrafts {
  const drafts: Draft[] = blocks.map((block) => ({
    block,
    label: block.label,
    value: block.value,
    isDetached: false,
    ...defined({ description: block.description }),
  }))
  const draftOf = (label: string) => drafts.find((draft) => !draft.isDetached && draft.label === label)
  const labels = () => drafts.flatMap(({ label, isDetached }) => (isDetached ? [] : [label]))

  const missing = (label: string) => {
    const known = labels().join(', ')
    return `Memory block '${label}' does not exist. ${known ? `Blocks: ${known}.` : 'You have none.'}`
  }
  const refuseFixed = ({ block, label }: Draft): Refusal => {
    if (block?.readOnly) return `The block ${label} is read-only and cannot be edited.`
    return block && !shared.has(block.id)
      ? `The block ${label} belongs to this conversation alone and can only be edited.`
      : undefined
  }
  const changeDraft = (label: string, change: (draft: Draft) => Refusal): Refusal => {
    const draft = draftOf(label)
    return draft ? (refuseFixed(draft) ?? change(draft)) : missing(label)
  }
  const refuseLabel = (label: string): Refusal => {
    if (label.trim() === '') return 'A memory block needs a label.'
    if (label.length > MAX_LABEL) return `The label of a memory block may have ${MAX_LABEL} characters.`
    return draftOf(label) ? `Memory block '${label}' already exists.` : undefined
  }

  return {
    labels,
    find: (label) => {
      const draft = draftOf(label)
      return draft && blockOf(draft)
    },
    create(label, { value, description }) {
      const text = cleanText(value)
      const fault = refuseLabel(label) ?? limitFault(text, DEFAULT_BLOCK_LIMIT)
      if (fault !== undefined) return fault
      drafts.push({ label, value: text, isDetached: false, ...defined({ description }) })
      return undefined
    },
    edit(label, edit) {
      const draft = draftOf(label)
      if (!draft) return { type: 'refused', reason: missing(label) }
      const edited = edit(blockOf(draft))
      if (edited.type === 'edited') draft.value = edited.value
      return edited
    },
    detach: (label) =>
      changeDraft(label, (draft) => {
        draft.isDetached = true
        return undefined
      }),
    rename: (label, to) =>
      changeDraft(label, (draft) => {
        if (to === label) return undefined
        const fault = refuseLabel(to)
        if (fault === undefined) draft.label = to
        return fault
      }),
    describe: (label, description) =>
      changeDraft(label, (draft) => {
        draft.description = cleanText(description)
        return undefined
      }),
    // Labels are freed before they are taken.
    writes: (newId) => [
      ...drafts.flatMap(detachment),
      ...drafts.flatMap(relabeling),
      ...drafts.flatMap(replacement),
      ...drafts.flatMap((draft): ToolWrite[] => {
        if (draft.block || draft.isDetached) return []
        const { label, value, description } = draft
        return [{ type: 'create-block', blockId: newId(), label, value, ...defined({ description }) }]
      }),
    ],
  }
}

function detachment({ block, isDetached }: Draft): ToolWrite[] {
  return block && isDetached ? [{ type: 'detach-block', blockId: block.id }] : []
}

function relabeling({ block, isDetached, label, description }: Draft): ToolWrite[] {
  if (!block || isDetached) return []
  const changed = defined({
    label: label === block.label ? undefined : label,
    description: description === block.description ? undefined : description,
  })
  return Object.keys(changed).length === 0 ? [] : [{ type: 'relabel-block', blockId: block.id, ...changed }]
}

function replacement({ block, isDetached, value }: Draft): ToolWrite[] {
  if (!block || isDetached || value === block.value) return []
  return [{ type: 'replace-block', blockId: block.id, value, version: block.version }]
}

/** The block as the call has left it. A new one has no row yet: only its text can be edited. */
const blockOf = ({ block, label, value, description }: Draft): Block => ({
  ...(block ?? NEW_BLOCK),
  label,
  value,
  ...defined({ description }),
})

const NEW_BLOCK: Omit<Block, 'label' | 'value'> = {
  id: 'block-new',
  organizationId: 'org-new',
  limit: DEFAULT_BLOCK_LIMIT,
  readOnly: false,
  tags: [],
  metadata: {},
  isTemplate: false,
  version: 0,
  createdAt: 0,
  updatedAt: 0,
}
