import { type Block, type BlockAuthor, cleanText, DEFAULT_BLOCK_LIMIT, limitFault } from '../../core/block.ts'
import { defined } from '../../core/defined.ts'
import type { BlockId } from '../../core/id.ts'
import type { JsonObject } from '../../core/json.ts'
import { principalOf } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import type { BlockFilter } from '../../ports/block-store.ts'
import type { ListPage } from '../../ports/list-page.ts'
import { requireRoomFor } from '../people/storage-quota.ts'
import type { ServiceContext } from '../service-context.ts'

export type NewBlock = {
  label: string
  value: string
  limit?: number
  description?: string
  readOnly?: boolean
  tags?: string[]
  metadata?: JsonObject
  hidden?: boolean
  templateName?: string
  isTemplate?: boolean
}

/** Absent fields stay unchanged; `description: null` removes the description. */
export type BlockChange = Partial<Omit<NewBlock, 'description'>> & { description?: string | null }

export async function createBlock(input: NewBlock, context: ServiceContext): Promise<Block> {
  const block = toBlock(input, context)
  await requireRoomFor(block.value, context)
  await context.deps.store.blocks.create(block)
  return block
}

export async function requireBlock(id: BlockId, context: ServiceContext): Promise<Block> {
  const block = await context.deps.store.blocks.get(context.organizationId, id)
  if (block) return block
  throw new Problem('not-found', `There is no block "${id}".`)
}

export async function listBlocks(filter: BlockFilter, page: ListPage, context: ServiceContext): Promise<Block[]> {
  const blocks = await context.deps.store.blocks.list(context.organizationId, filter, page)
  if (blocks) return blocks
  throw new Problem('not-found', `Unknown cursor "${page.after ?? page.before}". Use the id of a block in this list.`)
}

/** Every agent with this block sees the new value when its prompt is compiled next. */
export async function updateBlock(id: BlockId, change: BlockChange, context: ServiceContext): Promise<Block> {
  const { store, clock } = context.deps
  if (change.value !== undefined) await requireRoomFor(change.value, context)
  const now = clock.now()
  const updated = await store.blocks.update(context.organizationId, id, (block) => {
    const { description, ...rest } = change
    const { description: before, ...kept } = block
    const value = cleanText(change.value ?? block.value)
    const isNew = value !== block.value
    const newDescription = description === undefined ? before : (description ?? undefined)
    return requireWithinLimit({
      ...kept,
      ...rest,
      label: requireLabel(change.label ?? block.label),
      value,
      ...defined({
        description: newDescription === undefined ? undefined : cleanText(newDescription),
        author: isNew ? authorOf(context) : block.author,
        writtenAt: isNew ? now : block.writtenAt,
      }),
      updatedAt: now,
    })
  })
  if (updated === 'label-taken')
    throw new Problem('conflict', `An agent with this block already has another block labeled "${change.label}".`)
  if (!updated) throw new Problem('not-found', `There is no block "${id}".`)
  return updated
}

export async function deleteBlock(id: BlockId, context: ServiceContext): Promise<void> {
  if (!(await context.deps.store.blocks.delete(context.organizationId, id)))
    throw new Problem('not-found', `There is no block "${id}".`)
}

/** Who the history of a block names for a change of this caller. */
export const authorOf = ({ caller }: Pick<ServiceContext, 'caller'>): BlockAuthor => ({
  type: 'caller',
  by: principalOf(caller),
})

/** A validated block that is not stored yet. */
export function toBlock(input: NewBlock, context: ServiceContext): Block {
  const { clock, randomness } = context.deps
  const now = clock.now()
  const { description, hidden, templateName } = input
  return requireWithinLimit({
    id: `block-${randomness.uuid()}`,
    organizationId: context.organizationId,
    label: requireLabel(input.label),
    value: cleanText(input.value),
    limit: input.limit ?? DEFAULT_BLOCK_LIMIT,
    readOnly: input.readOnly ?? false,
    tags: input.tags ?? [],
    metadata: input.metadata ?? {},
    isTemplate: input.isTemplate ?? false,
    ...defined({ description: description === undefined ? undefined : cleanText(description), hidden, templateName }),
    version: 1,
    author: authorOf(context),
    writtenAt: now,
    createdAt: now,
    updatedAt: now,
  })
}

function requireWithinLimit(block: Block): Block {
  const fault = limitFault(block.value, block.limit)
  if (fault) throw new Problem('invalid', `The value of block "${block.label}" is too long: ${fault}.`)
  return block
}

function requireLabel(text: string): string {
  const label = cleanText(text).trim()
  if (label === '') throw new Problem('invalid', 'A block needs a label.')
  return label
}
