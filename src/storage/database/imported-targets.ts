import type { AgentId } from '../../core/id.ts'
import { type Executor, statement } from './statement.ts'

const DELETED = 'It was imported, and deleted here later.'

/** The row of an imported object says that the object was deleted here: another pass does not bring it back. */
export const markTargetDeleted = (db: Executor, target: string) => db.run(markTarget, { target, reason: DELETED })

/** The same for an agent and all that was imported with it. */
export async function markAgentDeleted(db: Executor, agent: AgentId): Promise<void> {
  await markTargetDeleted(db, agent)
  await db.run(markOwned, { agent, reason: DELETED })
}

const markTarget = statement<{ target: string; reason: string }>()((db, p) =>
  db
    .updateTable('import_objects')
    .set({ outcome: 'deleted', reason: p('reason'), target_id: null })
    .where('target_id', '=', p('target'))
    // As in the index.
    .where('kind', 'in', ['agent', 'block', 'tool', 'passage', 'mcp-server'])
    .where('outcome', '=', 'imported'),
)

const markOwned = statement<{ agent: AgentId; reason: string }>()((db, p) =>
  db
    .updateTable('import_objects')
    .set({ outcome: 'deleted', reason: p('reason'), target_id: null })
    .where('owner_id', '=', p('agent'))
    .where('outcome', '=', 'imported'),
)
