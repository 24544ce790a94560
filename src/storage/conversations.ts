import { sql } from 'kysely'
import type { Conversation } from '../core/agent.ts'
import type { ConversationId } from '../core/id.ts'
import type { ConversationStore } from '../ports/store.ts'
import type { Database } from './database.ts'
import { type Executor, statement } from './statement.ts'

export function conversationStore({ read, write }: Database): ConversationStore {
  return {
    create: (conversation) =>
      write({
        key: conversation.id,
        async work(db) {
          await insertConversation(db, conversation)
          return true
        },
        async recall(db) {
          const { id, organizationId } = conversation
          return (await db.get(byId, { organization: organizationId, id })) ? true : undefined
        },
      }).then(() => undefined),

    get: (organizationId, id) =>
      read(async (db) => {
        const row = await db.get(byId, { organization: organizationId, id })
        return row && conversationOf(row)
      }),

    defaultOf: (organizationId, agentId) =>
      read(async (db) => {
        const row = await db.get(defaultOfAgent, { organization: organizationId, agent: agentId })
        return row && conversationOf(row)
      }),

    list: (organizationId, agentId) =>
      read(async (db) => {
        const rows = await db.all(ofAgent, { organization: organizationId, agent: agentId })
        return rows.map(conversationOf)
      }),
  }
}

export async function insertConversation(db: Executor, conversation: Conversation): Promise<void> {
  await db.run(insert, {
    id: conversation.id,
    organization_id: conversation.organizationId,
    agent_id: conversation.agentId,
    is_default: conversation.isDefault ? 1 : 0,
    created_at: conversation.createdAt,
    last_message_at: conversation.lastMessageAt ?? null,
    context_start: conversation.contextStart,
    next_position: conversation.nextPosition,
  })
}

export async function moveContext(db: Executor, id: ConversationId, contextStart: number): Promise<void> {
  await db.run(setContextStart, { id, start: contextStart })
}

export type ConversationRow = {
  id: Conversation['id']
  organization_id: Conversation['organizationId']
  agent_id: Conversation['agentId']
  is_default: number
  created_at: number
  last_message_at: number | null
  context_start: number
  next_position: number
}

export function conversationOf(row: ConversationRow): Conversation {
  const conversation: Conversation = {
    id: row.id,
    organizationId: row.organization_id,
    agentId: row.agent_id,
    isDefault: row.is_default === 1,
    createdAt: row.created_at,
    contextStart: row.context_start,
    nextPosition: row.next_position,
  }
  if (row.last_message_at !== null) conversation.lastMessageAt = row.last_message_at
  return conversation
}

const insert = statement<ConversationRow>()((db, p) =>
  db.insertInto('conversations').values({
    id: p('id'),
    organization_id: p('organization_id'),
    agent_id: p('agent_id'),
    is_default: p('is_default'),
    created_at: p('created_at'),
    last_message_at: p('last_message_at'),
    context_start: p('context_start'),
    next_position: p('next_position'),
  }),
)

const byId = statement<{ organization: string; id: string }>()((db, p) =>
  db.selectFrom('conversations').selectAll().where('id', '=', p('id')).where('organization_id', '=', p('organization')),
)

/** Two openers of runs in one conversation come one after the other. */
export const takeOpeningRight = statement<{ organization: string; id: string }>()((db, p, { openingRight }) =>
  db
    .selectFrom('conversations')
    .select(['id', 'agent_id', openingRight(p('id')).as('right')])
    .where('id', '=', p('id'))
    .where('organization_id', '=', p('organization')),
)

const defaultOfAgent = statement<{ organization: string; agent: string }>()((db, p) =>
  db
    .selectFrom('conversations')
    .selectAll()
    .where('agent_id', '=', p('agent'))
    .where('is_default', '=', sql.lit(1))
    .where('organization_id', '=', p('organization')),
)

const ofAgent = statement<{ organization: string; agent: string }>()((db, p) =>
  db
    .selectFrom('conversations')
    .selectAll()
    .where('agent_id', '=', p('agent'))
    .where('organization_id', '=', p('organization'))
    .orderBy('number', 'desc'),
)

const setContextStart = statement<{ id: string; start: number }>()((db, p) =>
  db
    .updateTable('conversations')
    // What is in view begins anew, and so does what is said before it.
    .set({ context_start: p('start'), system_prompt: sql`null` })
    .where('id', '=', p('id')),
)
