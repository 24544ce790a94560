import { sql } from 'kysely'
import type { Conversation } from '../../core/agent.ts'
import type { ConversationId } from '../../core/id.ts'
import type { ConversationStore, Deleted } from '../../ports/store.ts'
import { lockAgent } from '../agents/agent-row.ts'
import type { Database } from '../database/database.ts'
import { type Executor, statement } from '../database/statement.ts'
import { insertBlock } from '../memory/blocks.ts'
import { removeOwnBlocks } from '../memory/own-blocks.ts'
import { searchConversations } from './conversation-list.ts'
import { type ConversationRow, conversationOf, editable } from './conversation-row.ts'
import { copyMessages } from './messages.ts'

export function conversationStore({ read, write }: Database): ConversationStore {
  return {
    create: (conversation, ownBlocks = []) =>
      write({
        key: conversation.id,
        async work(db) {
          await insertConversation(db, conversation)
          for (const block of ownBlocks) await insertBlock(db, block)
          return true
        },
        recall: async (db) => ((await db.get(byId, idOf(conversation))) ? true : undefined),
      }).then(() => undefined),

    get: (organizationId, id) =>
      read(async (db) => {
        const row = await db.get(byId, idOf({ organizationId, id }))
        return row && conversationOf(row)
      }),

    getAnywhere: (id) =>
      read(async (db) => {
        const row = await db.get(anywhere, { id })
        return row && { organizationId: row.organization_id, agentId: row.agent_id, isDeleted: row.deleted_at !== null }
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

    search: (organizationId, filter, page) => read((db) => searchConversations(db, { organizationId, filter, page })),

    update: (organizationId, id, edit) =>
      write({
        key: id,
        async work(db) {
          const row = await db.get(forUpdate, idOf({ organizationId, id }))
          if (!row) return undefined
          const edited = edit(conversationOf(row))
          await db.run(update, { id, ...editable(edited), last_message_at: edited.lastMessageAt ?? null })
          return edited
        },
      }),

    delete: (organizationId, id, at) => write({ key: id, work: (db) => remove(db, idOf({ organizationId, id }), at) }),

    fork: (source, conversation, ownBlocks = []) =>
      write({
        key: conversation.id,
        async work(db) {
          const { organizationId, agentId, nextPosition } = conversation
          // Whoever deletes the agent comes before all of this or after it.
          const agent = await db.get(lockAgent, { organization: organizationId, agent: agentId })
          const original = agent && (await db.get(byId, idOf({ organizationId, id: source })))
          if (!original || original.agent_id !== agentId) return 'not-found' as const
          await insertConversation(db, conversation)
          for (const block of ownBlocks) await insertBlock(db, block)
          const copied = await copyMessages(db, { from: source, to: conversation.id, end: nextPosition })
          if (copied !== nextPosition) throw new Error(`${copied} of ${nextPosition} messages of ${source} were copied`)
          return 'forked' as const
        },
        recall: async (db) => ((await db.get(byId, idOf(conversation))) ? ('forked' as const) : undefined),
      }),
  }
}

/** Under the right to open runs, so that none can be opened in between. */
async function remove(db: Executor, place: { organization: string; id: string }, at: number): Promise<Deleted> {
  const found = await db.get(takeOpeningRight, place)
  if (!found) return { type: 'not-found' }
  const active = await db.all(activeIn, { id: place.id })
  if (active.length > 0) return { type: 'busy', runIds: active.map(({ id }) => id) }
  const row = await db.get(byId, place)
  if (row) await removeOwnBlocks(db, row)
  await db.run(setDeleted, { id: place.id, at })
  return { type: 'deleted' }
}

const idOf = ({ organizationId, id }: Pick<Conversation, 'organizationId' | 'id'>) => ({
  ...{ organization: organizationId, id },
})

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
    ...editable(conversation),
  })
}

export async function moveContext(db: Executor, id: ConversationId, contextStart: number): Promise<void> {
  await db.run(setContextStart, { id, start: contextStart })
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
    summary: p('summary'),
    details: p('details'),
    archived_at: p('archived_at'),
    updated_at: p('updated_at'),
  }),
)

type Editable = ReturnType<typeof editable> & { id: string; last_message_at: number | null }

const update = statement<Editable>()((db, p) =>
  db
    .updateTable('conversations')
    .set({
      summary: p('summary'),
      details: p('details'),
      archived_at: p('archived_at'),
      updated_at: p('updated_at'),
      last_message_at: p('last_message_at'),
    })
    .where('id', '=', p('id')),
)

const setDeleted = statement<{ id: string; at: number }>()((db, p) =>
  db
    .updateTable('conversations')
    .set({ deleted_at: p('at') })
    .where('id', '=', p('id')),
)

const byId = statement<{ organization: string; id: string }>()((db, p) =>
  db
    .selectFrom('conversations')
    .selectAll()
    .where('id', '=', p('id'))
    .where('organization_id', '=', p('organization'))
    .where('deleted_at', 'is', null),
)

const anywhere = statement<{ id: string }>()((db, p) =>
  db.selectFrom('conversations').select(['organization_id', 'agent_id', 'deleted_at']).where('id', '=', p('id')),
)

const forUpdate = statement<{ organization: string; id: string }>()((db, p, { lock }) =>
  lock(
    db
      .selectFrom('conversations')
      .selectAll()
      .where('id', '=', p('id'))
      .where('organization_id', '=', p('organization'))
      .where('deleted_at', 'is', null),
  ),
)

/** Two openers of runs in one conversation come one after the other. */
export const takeOpeningRight = statement<{ organization: string; id: string }>()((db, p, { openingRight }) =>
  db
    .selectFrom('conversations')
    .select(['id', 'agent_id', openingRight(p('id')).as('right')])
    .where('id', '=', p('id'))
    .where('organization_id', '=', p('organization'))
    .where('deleted_at', 'is', null),
)

const activeIn = statement<{ id: string }>()((db, p) =>
  db
    .selectFrom('runs')
    .select('id')
    .where('conversation_id', '=', p('id'))
    .where(sql<boolean>`(status = 'created' or status = 'running' or waiting = 1)`)
    .orderBy('number'),
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
    .where('deleted_at', 'is', null)
    .orderBy('number', 'desc'),
)

const setContextStart = statement<{ id: string; start: number }>()((db, p) =>
  db
    .updateTable('conversations')
    // What is in view begins anew, and so does what is said before it.
    .set({ context_start: p('start'), system_prompt: sql`null` })
    .where('id', '=', p('id')),
)
