import type { Block, BlockVersion } from '../core/block.ts'
import type { AgentId, BlockId, OrganizationId } from '../core/id.ts'
import type { ListPage, ListResult } from './list-page.ts'

export type BlockFilter = {
  label?: string
  name?: string
  labelText?: string
  valueText?: string
  descriptionText?: string
  tags?: string[]
  allTags?: boolean
  isTemplate?: boolean
  agentsOver?: number
  agentsUnder?: number
}

export type AttachResult = 'attached' | 'already' | 'label-taken' | 'not-found'

export type BlockStore = {
  create(block: Block): Promise<void>
  get(organizationId: OrganizationId, id: BlockId): Promise<Block | undefined>
  list(organizationId: OrganizationId, filter: BlockFilter, page: ListPage): ListResult<Block>
  /** `label-taken`: an agent with this block has another block with the new label. */
  update(
    organizationId: OrganizationId,
    id: BlockId,
    edit: (block: Block) => Block,
  ): Promise<Block | 'label-taken' | undefined>
  delete(organizationId: OrganizationId, id: BlockId): Promise<boolean>
  /** The values that are kept, newest first; the first one is the present one. Undefined: there is no such block. */
  versions(organizationId: OrganizationId, id: BlockId): Promise<BlockVersion[] | undefined>
  /** A value that the block had. Undefined: it is not kept. */
  replaced(
    organizationId: OrganizationId,
    id: BlockId,
    version: number,
  ): Promise<(BlockVersion & { value: string }) | undefined>
  /** Blocks of an agent, in the order they were attached. */
  ofAgent(organizationId: OrganizationId, agentId: AgentId): Promise<Block[]>
  attach(organizationId: OrganizationId, agentId: AgentId, blockId: BlockId): Promise<AttachResult>
  detach(organizationId: OrganizationId, agentId: AgentId, blockId: BlockId): Promise<boolean>
}
