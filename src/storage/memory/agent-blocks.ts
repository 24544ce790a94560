import { sql } from 'kysely'
import type { AgentId, BlockId, OrganizationId } from '../../core/id.ts'
import type { AttachResult } from '../../ports/block-store.ts'
import { lockAgent } from '../database/lock-agent.ts'
import { type Executor, statement } from '../database/statement.ts'
import { invalidatePrompts } from './stale-prompts.ts'

type AgentBlockIds = { organizationId: OrganizationId; agentId: AgentId; blockId: BlockId }

/** Attaches exactly these blocks, in this order. Callers check that the blocks exist and their labels differ. */
export async function attachBlocks(
  db: Executor,
  { id, organizationId }: { id: AgentId; organizationId: OrganizationId },
  blockIds: readonly BlockId[],
): Promise<void> {
  await db.run(detachAll, { agent: id })
  for (const blockId of blockIds) await db.run(attach, { agent: id, block: blockId, organization: organizationId })
}

export async function attachBlock(
  db: Executor,
  { organizationId, agentId, blockId }: AgentBlockIds,
): Promise<AttachResult> {
  const agent = await db.get(lockAgent, { organization: organizationId, agent: agentId })
  const block = await db.get(blockLabel, { organization: organizationId, block: blockId })
  if (!agent || !block) return 'not-found'
  if (await db.get(attachment, { agent: agentId, block: blockId })) return 'already'
  if (await db.get(attachedWithLabel, { agent: agentId, label: block.label })) return 'label-taken'
  await db.run(attach, { agent: agentId, block: blockId, organization: organizationId })
  await invalidatePrompts(db, agentId)
  return 'attached'
}

export async function detachBlock(db: Executor, { organizationId, agentId, blockId }: AgentBlockIds): Promise<boolean> {
  if (!(await db.get(lockAgent, { organization: organizationId, agent: agentId }))) return false
  const isGone = (await db.run(detach, { agent: agentId, block: blockId })) > 0
  if (isGone) await invalidatePrompts(db, agentId)
  return isGone
}

/** True if no agent with this block has another block with that label. */
export const isLabelFree = async (db: Executor, blockId: BlockId, label: string): Promise<boolean> =>
  !(await db.get(conflictingBlocks, { block: blockId, label }))

export async function relabel(db: Executor, blockId: BlockId, label: string): Promise<void> {
  await db.run(setLabel, { block: blockId, label })
}

export async function invalidatePromptsOfBlock(db: Executor, blockId: BlockId): Promise<void> {
  for (const { agent_id } of await db.all(agentsOf, { block: blockId })) await invalidatePrompts(db, agent_id)
}

const blockLabel = statement<{ organization: OrganizationId; block: BlockId }>()((db, p) =>
  db.selectFrom('blocks').select('label').where('id', '=', p('block')).where('organization_id', '=', p('organization')),
)

const attachment = statement<{ agent: AgentId; block: BlockId }>()((db, p) =>
  db.selectFrom('agent_blocks').select('label').where('agent_id', '=', p('agent')).where('block_id', '=', p('block')),
)

const attachedWithLabel = statement<{ agent: AgentId; label: string }>()((db, p) =>
  db.selectFrom('agent_blocks').select('block_id').where('agent_id', '=', p('agent')).where('label', '=', p('label')),
)

/** After the agent's other blocks, with the label of the block. */
const attach = statement<{ agent: AgentId; block: BlockId; organization: OrganizationId }>()((db, p) =>
  db
    .insertInto('agent_blocks')
    .columns(['agent_id', 'block_id', 'label', 'position'])
    .expression(
      db
        .selectFrom('blocks')
        .select([
          sql<AgentId>`cast(${p('agent')} as text)`.as('agent_id'),
          'id',
          'label',
          sql<number>`(select coalesce(max(position), 0) + 1 from agent_blocks where agent_id = ${p('agent')})`.as(
            'position',
          ),
        ])
        .where('id', '=', p('block'))
        .where('organization_id', '=', p('organization')),
    ),
)

const detach = statement<{ agent: AgentId; block: BlockId }>()((db, p) =>
  db.deleteFrom('agent_blocks').where('agent_id', '=', p('agent')).where('block_id', '=', p('block')),
)

const detachAll = statement<{ agent: AgentId }>()((db, p) =>
  db.deleteFrom('agent_blocks').where('agent_id', '=', p('agent')),
)

const setLabel = statement<{ block: BlockId; label: string }>()((db, p) =>
  db
    .updateTable('agent_blocks')
    .set({ label: p('label') })
    .where('block_id', '=', p('block')),
)

const conflictingBlocks = statement<{ block: BlockId; label: string }>()((db, p) =>
  db
    .selectFrom('agent_blocks as other')
    .innerJoin('agent_blocks as ours', 'ours.agent_id', 'other.agent_id')
    .select('other.block_id')
    .where('ours.block_id', '=', p('block'))
    .where('other.block_id', '!=', p('block'))
    .where('other.label', '=', p('label'))
    .limit(1),
)

const agentsOf = statement<{ block: BlockId }>()((db, p) =>
  db.selectFrom('agent_blocks').select('agent_id').where('block_id', '=', p('block')),
)
