import { sql } from 'kysely'
import { defined } from '../../core/defined.ts'
import type { AgentId, ConversationId, MessageId, OrganizationId } from '../../core/id.ts'
import type { LastRun } from '../../ports/agent-store.ts'
import type { ConversationState } from '../../ports/message-search-store.ts'
import { type Executor, statement } from '../database/statement.ts'
import { MESSAGE_COLUMNS, messagesOf } from '../rows/message-row.ts'

/** Must run in a snapshot, or a client could see an approval that is not in its list of messages. */
export async function readConversationState(
  db: Executor,
  { organizationId, id }: { organizationId: OrganizationId; id: ConversationId },
): Promise<ConversationState | undefined> {
  const found = await db.get(conversation, { organization: organizationId, id })
  if (!found) return undefined
  const shown = await db.all(idsFrom, { conversation: id, start: found.context_start })
  const context = shown.map((row) => ({ id: row.id, role: row.role }))
  const waitingRun = await db.get(waitingIn, { conversation: id })
  const waiting = waitingRun && messagesOf(await db.rows(lastAnswer, { conversation: id })).at(0)
  return { context, lastRun: await lastRunOf(db, organizationId, found.agent_id), ...defined({ waiting }) }
}

async function lastRunOf(db: Executor, organizationId: OrganizationId, id: AgentId): Promise<LastRun> {
  const row = await db.get(lastEnded, { organization: organizationId, agent: id })
  if (!row) return {}
  return defined({
    stopReason: row.stop_reason ?? undefined,
    completedAt: row.completed_at ?? undefined,
    durationMs: row.completed_at === null || row.started_at === null ? undefined : row.completed_at - row.started_at,
  })
}

const conversation = statement<{ organization: OrganizationId; id: ConversationId }>()((db, p) =>
  db
    .selectFrom('conversations')
    .select(['agent_id', 'context_start'])
    .where('id', '=', p('id'))
    .where('organization_id', '=', p('organization')),
)

const idsFrom = statement<{ conversation: ConversationId; start: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .select([sql<MessageId>`coalesce(copy_of, id)`.as('id'), 'role'])
    .where('conversation_id', '=', p('conversation'))
    .where('position', '>=', p('start'))
    .orderBy('position'),
)

const waitingIn = statement<{ conversation: ConversationId }>()((db, p) =>
  db
    .selectFrom('runs')
    .select('id')
    .where('conversation_id', '=', p('conversation'))
    .where(sql<boolean>`(status = 'running' or waiting = 1)`)
    .where('waiting', '=', sql.lit(1)),
)

const lastAnswer = statement<{ conversation: ConversationId }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(MESSAGE_COLUMNS)
    .where('conversation_id', '=', p('conversation'))
    .where('role', '=', sql.lit('assistant' as const))
    .orderBy('position', 'desc')
    .limit(sql.lit(1)),
)

const lastEnded = statement<{ organization: OrganizationId; agent: AgentId }>()((db, p) =>
  db
    .selectFrom('runs')
    .select(['stop_reason', 'completed_at', 'started_at'])
    .where('agent_id', '=', p('agent'))
    .where('organization_id', '=', p('organization'))
    .where('completed_at', 'is not', null)
    .orderBy('number', 'desc')
    .limit(1),
)
