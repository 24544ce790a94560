import { type Block, withConversationBlocks } from '../../core/block.ts'
import type { AgentId, BlockId } from '../../core/id.ts'
import { rowById } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { BLOCK } from '../rows/block-row.ts'
import type { ConversationRow } from '../rows/conversation-row.ts'
import { blocksOfAgent, removeBlock } from './blocks.ts'

type OwnBlocksRow = Pick<ConversationRow, 'organization_id' | 'agent_id' | 'own_blocks'>

/** Blocks of a conversation: the agent's blocks, with its own copies in their place. */
export async function blocksInConversation(db: Executor, row: OwnBlocksRow): Promise<Block[]> {
  const { organization_id: organization, agent_id: agent } = row
  const shared = (await db.all(blocksOfAgent, { organization, agent })).map(BLOCK.objectOf)
  const own: Block[] = []
  for (const id of ownBlockIds(row)) {
    const found = await db.get(byId.plain, { organization, id })
    // A deleted copy is replaced by the shared block again.
    if (found) own.push(BLOCK.objectOf(found))
  }
  return withConversationBlocks(shared, own)
}

/** Own blocks are deleted with their conversation. */
export async function removeOwnBlocks(db: Executor, row: Pick<OwnBlocksRow, 'own_blocks'>): Promise<void> {
  for (const id of ownBlockIds(row)) await removeBlock(db, id)
}

export async function removeOwnBlocksOfAgent(db: Executor, agent: AgentId): Promise<void> {
  for (const row of await db.all(withOwnBlocks, { agent })) await removeOwnBlocks(db, row)
}

const ownBlockIds = ({ own_blocks }: Pick<OwnBlocksRow, 'own_blocks'>): readonly BlockId[] =>
  own_blocks === null ? [] : JSON.parse(own_blocks)

const byId = rowById('blocks')

const withOwnBlocks = statement<{ agent: AgentId }>()((db, p) =>
  db
    .selectFrom('conversations')
    .select('own_blocks')
    .where('agent_id', '=', p('agent'))
    .where('own_blocks', 'is not', null),
)
