import { type SqlBool, sql } from 'kysely'
import type { ConversationDetails } from '../../core/agent.ts'
import { type Block, withOwn } from '../../core/block.ts'
import type { BlockId, OrganizationId } from '../../core/id.ts'
import { type Executor, statement } from '../database/statement.ts'
import { blockOf } from './block-row.ts'
import { blocksOfAgent, removeBlock } from './blocks.ts'

type Row = { organization_id: OrganizationId; agent_id: string; details: string }

/** What a conversation reads and edits: the agent's blocks, with its own in place of those it has a copy of. */
export async function blocksInConversation(db: Executor, row: Row): Promise<Block[]> {
  const place = { organization: row.organization_id, agent: row.agent_id }
  const shared = (await db.all(blocksOfAgent, place)).map(blockOf)
  const own: Block[] = []
  for (const id of ownIn(row)) {
    const found = await db.get(byId, { organization: row.organization_id, id })
    // Whoever deleted it by hand wanted the shared one back.
    if (found) own.push(blockOf(found))
  }
  return withOwn(shared, own)
}

/** They go with their conversation. */
export async function removeOwnBlocks(db: Executor, row: Pick<Row, 'details'>): Promise<void> {
  for (const id of ownIn(row)) await removeBlock(db, id)
}

export async function removeOwnBlocksOfAgent(db: Executor, agent: string): Promise<void> {
  for (const row of await db.all(withOwnBlocks, { agent })) await removeOwnBlocks(db, row)
}

/** Most have none, and their details are not worth parsing. */
const ownIn = ({ details }: Pick<Row, 'details'>): readonly BlockId[] =>
  details.includes('"ownBlocks"') ? ((JSON.parse(details) as ConversationDetails).ownBlocks ?? []) : []

const byId = statement<{ organization: string; id: string }>()((db, p) =>
  db.selectFrom('blocks').selectAll().where('id', '=', p('id')).where('organization_id', '=', p('organization')),
)

const withOwnBlocks = statement<{ agent: string }>()((db, p) =>
  db
    .selectFrom('conversations')
    .select('details')
    .where('agent_id', '=', p('agent'))
    .where(sql<SqlBool>`details like '%"ownBlocks"%'`),
)
