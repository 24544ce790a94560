import { sql } from 'kysely'
import type { AgentId } from '../../core/id.ts'
import { type Executor, statement } from '../database/statement.ts'

/** The next turn of each conversation compiles its prompt again. */
export async function forgetPrompts(db: Executor, agentId: AgentId): Promise<void> {
  await db.run(forget, { agent: agentId })
}

const forget = statement<{ agent: AgentId }>()((db, p) =>
  db
    .updateTable('conversations')
    .set({ system_prompt: sql`null` })
    .where('agent_id', '=', p('agent'))
    .where('system_prompt', 'is not', null),
)
