import { sql } from 'kysely'
import type { AgentId } from '../../core/id.ts'
import { type Executor, statement } from '../database/statement.ts'

/** Clears the compiled prompts: the next turn of each conversation compiles a new one. */
export async function invalidatePrompts(db: Executor, agentId: AgentId): Promise<void> {
  await db.run(clearPrompts, { agent: agentId })
}

const clearPrompts = statement<{ agent: AgentId }>()((db, p) =>
  db
    .updateTable('conversations')
    .set({ system_prompt: sql`null` })
    .where('agent_id', '=', p('agent'))
    .where('system_prompt', 'is not', null),
)
