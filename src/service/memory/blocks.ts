import { BLOCK_LIMIT, type Block, cleanText, overLimit } from '../../core/block.ts'
import type { BlockId } from '../../core/id.ts'
import type { JsonObject } from '../../core/json.ts'
import { Problem } from '../../core/problem.ts'
import type { BlockFilter } from '../../ports/block-store.ts'
import type { ListPage } from '../../ports/list-page.ts'
import type { Desk } from '../desk.ts'

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

/** What is not named stays as it is; `description: null` takes it away. */
export type BlockChange = Partial<Omit<NewBlock, 'description'>> & { description?: string | null }

export async function createBlock(wish: NewBlock, desk: Desk): Promise<Block> {
  const block = blockFrom(wish, desk)
  await desk.world.store.blocks.create(block)
  return block
}

export async function requireBlock(id: BlockId, desk: Desk): Promise<Block> {
  const block = await desk.world.store.blocks.get(desk.organizationId, id)
  if (block) return block
  throw new Problem('not-found', `There is no block ${id}.`)
}

export async function listBlocks(filter: BlockFilter, page: ListPage, desk: Desk): Promise<Block[]> {
  const blocks = await desk.world.store.blocks.list(desk.organizationId, filter, page)
  if (blocks) return blocks
  throw new Problem('not-found', `There is no block ${page.after ?? page.before} to go on from.`)
}

/** Everybody who has the block sees the new value when their prompt is compiled next. */
export async function updateBlock(id: BlockId, change: BlockChange, desk: Desk): Promise<Block> {
  const { store, clock } = desk.world
  const now = clock.now()
  const updated = await store.blocks.update(desk.organizationId, id, (block) => {
    const { description, ...rest } = change
    const { description: before, ...kept } = block
    const said = description === undefined ? before : (description ?? undefined)
    return checked({
      ...kept,
      ...rest,
      label: requireLabel(change.label ?? block.label),
      value: cleanText(change.value ?? block.value),
      ...(said === undefined ? {} : { description: cleanText(said) }),
      updatedAt: now,
    })
  })
  if (updated === 'label-taken')
    throw new Problem('conflict', `An agent that has this block has another one labelled "${change.label}".`)
  if (!updated) throw new Problem('not-found', `There is no block ${id}.`)
  return updated
}

export async function deleteBlock(id: BlockId, desk: Desk): Promise<void> {
  if (!(await desk.world.store.blocks.delete(desk.organizationId, id)))
    throw new Problem('not-found', `There is no block ${id}.`)
}

/** A block that is checked and not yet stored. */
export function blockFrom(wish: NewBlock, desk: Desk): Block {
  const { clock, randomness } = desk.world
  const now = clock.now()
  const { description, hidden, templateName } = wish
  return checked({
    id: `block-${randomness.uuid()}`,
    organizationId: desk.organizationId,
    label: requireLabel(wish.label),
    value: cleanText(wish.value),
    limit: wish.limit ?? BLOCK_LIMIT,
    readOnly: wish.readOnly ?? false,
    tags: wish.tags ?? [],
    metadata: wish.metadata ?? {},
    isTemplate: wish.isTemplate ?? false,
    ...(description === undefined ? {} : { description: cleanText(description) }),
    ...(hidden === undefined ? {} : { hidden }),
    ...(templateName === undefined ? {} : { templateName }),
    version: 1,
    createdAt: now,
    updatedAt: now,
  })
}

function checked(block: Block): Block {
  const fault = overLimit(block.value, block.limit)
  if (fault) throw new Problem('invalid', `The value of block "${block.label}" is too long: ${fault}.`)
  return block
}

function requireLabel(text: string): string {
  const label = cleanText(text).trim()
  if (label === '') throw new Problem('invalid', 'A block needs a label.')
  return label
}
