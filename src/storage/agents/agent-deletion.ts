import { type SqlBool, sql } from 'kysely'
import type { AgentId, ConversationId, OrganizationId, RunId, ScheduleId } from '../../core/id.ts'
import { markAgentDeleted } from '../database/imported-targets.ts'
import { lockAgent } from '../database/lock-agent.ts'
import { type Executor, type Statement, statement } from '../database/statement.ts'
import { removeOwnBlocksOfAgent } from '../memory/own-blocks.ts'

/** Atomic. A worker in the middle of one of its runs finds its lease gone and stops. */
export async function deleteAgent(
  db: Executor,
  { organizationId, id }: { organizationId: OrganizationId; id: AgentId },
): Promise<boolean> {
  const found = await db.get(lockAgent, { organization: organizationId, agent: id })
  if (!found) return false
  // Waits for appends in progress, so that none of their rows is left behind.
  await db.all(lockRuns, { agent: id })
  await removeOwnBlocksOfAgent(db, id)
  await markAgentDeleted(db, id)
  for (const removal of REMOVALS) await db.run(removal, { agent: id })
  await db.run(noteErasure, { organization: organizationId, agent: id })
  return true
}

type AgentParameter = { agent: AgentId }

const lockRuns = statement<AgentParameter>()((db, p, { lock }) =>
  lock(db.selectFrom('runs').select('number').where('agent_id', '=', p('agent'))),
)

/** Streams, files and words in indexes are erased after this commit, also after a crash. */
const noteErasure = statement<{ organization: OrganizationId; agent: AgentId }>()((db, p) =>
  db.insertInto('erasures').values({ organization_id: p('organization'), agent_id: p('agent') }),
)

const RUNS = (agent: AgentId) => sql<number>`(select number from runs where agent_id = ${agent})`
const CONVERSATIONS = (agent: AgentId) => sql<ConversationId>`(select id from conversations where agent_id = ${agent})`

/** Referencing rows first. */
const REMOVALS: Statement<AgentParameter, unknown>[] = [
  // First: it waits for schedules that fire, whose runs and instants go with the others.
  statement<AgentParameter>()((db, p) =>
    db
      .updateTable('schedules')
      .set({ is_paused: sql.lit(1) })
      .where('agent_id', '=', p('agent')),
  ),
  statement<AgentParameter>()((db, p) =>
    db
      .deleteFrom('schedule_instants')
      .where('schedule_id', 'in', sql<ScheduleId>`(select id from schedules where agent_id = ${p('agent')})`),
  ),
  statement<AgentParameter>()((db, p) => db.deleteFrom('schedules').where('agent_id', '=', p('agent'))),
  // Waits for a delivery that opens a run; the run goes with the others.
  statement<AgentParameter>()((db, p) => db.deleteFrom('hooks').where('agent_id', '=', p('agent'))),
  statement<AgentParameter>()((db, p) => db.deleteFrom('hook_deliveries').where('agent_id', '=', p('agent'))),
  statement<AgentParameter>()((db, p) => db.deleteFrom('events').where('run_number', 'in', RUNS(p('agent')))),
  statement<AgentParameter>()((db, p) => db.deleteFrom('steps').where('run_number', 'in', RUNS(p('agent')))),
  statement<AgentParameter>()((db, p) =>
    db.deleteFrom('messages').where('conversation_id', 'in', CONVERSATIONS(p('agent'))),
  ),
  statement<AgentParameter>()((db, p) =>
    db.deleteFrom('steered_requests').where('conversation_id', 'in', CONVERSATIONS(p('agent'))),
  ),
  statement<AgentParameter>()((db, p) =>
    db.deleteFrom('steers').where('conversation_id', 'in', CONVERSATIONS(p('agent'))),
  ),
  statement<AgentParameter>()((db, p) =>
    db.deleteFrom('asked_calls').where('conversation_id', 'in', CONVERSATIONS(p('agent'))),
  ),
  statement<AgentParameter>()((db, p) =>
    db.deleteFrom('run_otids').where('conversation_id', 'in', CONVERSATIONS(p('agent'))),
  ),
  statement<AgentParameter>()((db, p) =>
    db.deleteFrom('run_requests').where('conversation_id', 'in', CONVERSATIONS(p('agent'))),
  ),
  statement<AgentParameter>()((db, p) =>
    db.deleteFrom('openai_requests').where('conversation_id', 'in', CONVERSATIONS(p('agent'))),
  ),
  statement<AgentParameter>()((db, p) =>
    db.deleteFrom('openai_conversations').where('id', 'in', CONVERSATIONS(p('agent'))),
  ),
  statement<AgentParameter>()((db, p) =>
    db
      .deleteFrom('openai_deleted_responses')
      .where('run_id', 'in', sql<RunId>`(select id from runs where agent_id = ${p('agent')})`),
  ),
  statement<AgentParameter>()((db, p) => db.deleteFrom('runs').where('agent_id', '=', p('agent'))),
  // After the runs and schedules, whose last changes may be told of.
  statement<AgentParameter>()((db, p) => db.deleteFrom('webhook_deliveries').where('agent_id', '=', p('agent'))),
  statement<AgentParameter>()((db, p) => db.deleteFrom('conversations').where('agent_id', '=', p('agent'))),
  // After the conversations: an indexer locks the conversation first, and finds it gone.
  statement<AgentParameter>()((db, p) => db.deleteFrom('message_index').where('agent_id', '=', p('agent'))),
  statement<AgentParameter>()((db, p) => db.deleteFrom('message_vector_models').where('agent_id', '=', p('agent'))),
  statement<AgentParameter>()((db, p) => db.deleteFrom('message_index_heads').where('agent_id', '=', p('agent'))),
  statement<AgentParameter>()((db, p) => db.deleteFrom('passage_vectors').where('agent_id', '=', p('agent'))),
  statement<AgentParameter>()((db, p) => db.deleteFrom('passages').where('agent_id', '=', p('agent'))),
  statement<AgentParameter>()((db, p) => db.deleteFrom('agent_blocks').where('agent_id', '=', p('agent'))),
  // Without the attachments of this agent, those that are left belong to others.
  statement<AgentParameter>()((db, p) =>
    db
      .deleteFrom('blocks')
      .where('made_for', '=', p('agent'))
      .where(sql<SqlBool>`not exists (select 1 from agent_blocks where agent_blocks.block_id = blocks.id)`),
  ),
  statement<AgentParameter>()((db, p) => db.deleteFrom('agent_tags').where('agent_id', '=', p('agent'))),
  statement<AgentParameter>()((db, p) => db.deleteFrom('agents').where('id', '=', p('agent'))),
]
