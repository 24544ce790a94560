import { sql } from 'kysely'
import type { Conversation } from '../../core/agent.ts'
import type { AgentId, ConversationId, OrganizationId } from '../../core/id.ts'
import type { ConversationStore, DeleteResult } from '../../ports/store.ts'
import type { Database } from '../database/database.ts'
import { lockAgent } from '../database/lock-agent.ts'
import { insertInto, updateById } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { insertBlock } from '../memory/blocks.ts'
import { removeOwnBlocks } from '../memory/own-blocks.ts'
import { CONVERSATION_COLUMNS, conversationOf, conversationRowOf } from '../rows/conversation-row.ts'
import { lastActiveConversations, searchConversations } from './conversation-list.ts'
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
        findCommitted: async (db) => ((await db.get(byId, idOf(conversation))) ? true : undefined),
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

    lastActive: (organizationId, agentId, page) =>
      read((db) => lastActiveConversations(db, { organizationId, agentId, page })),

    search: (organizationId, filter, page) => read((db) => searchConversations(db, { organizationId, filter, page })),

    update: (organizationId, id, edit) =>
      write({
        key: id,
        async work(db) {
          const row = await db.get(forUpdate, idOf({ organizationId, id }))
          if (!row) return undefined
          const edited = edit(conversationOf(row))
          await db.run(update, conversationRowOf(edited))
          return edited
        },
      }),

    delete: (organizationId, id, at) => write({ key: id, work: (db) => remove(db, idOf({ organizationId, id }), at) }),

    fork: (source, conversation, ownBlocks = []) =>
      write({
        key: conversation.id,
        async work(db) {
          const { organizationId, agentId, nextPosition } = conversation
          // Serializes with the deletion of the agent.
          const agent = await db.get(lockAgent, { organization: organizationId, agent: agentId })
          const original = agent && (await db.get(byId, idOf({ organizationId, id: source })))
          if (!original || original.agent_id !== agentId) return 'not-found' as const
          await insertConversation(db, conversation)
          for (const block of ownBlocks) await insertBlock(db, block)
          const copied = await copyMessages(db, { from: source, to: conversation.id, end: nextPosition })
          if (copied !== nextPosition) throw new Error(`${copied} of ${nextPosition} messages of ${source} were copied`)
          return 'forked' as const
        },
        findCommitted: async (db) => ((await db.get(byId, idOf(conversation))) ? ('forked' as const) : undefined),
      }),
  }
}

/** Takes the opening lock, so that no run can be opened meanwhile. */
async function remove(db: Executor, key: Key, at: number): Promise<DeleteResult> {
  const found = await db.get(takeOpeningLock, key)
  if (!found) return { type: 'not-found' }
  const active = await db.all(activeIn, { id: key.id })
  if (active.length > 0) return { type: 'busy', runIds: active.map(({ id }) => id) }
  const row = await db.get(byId, key)
  if (row) await removeOwnBlocks(db, row)
  await db.run(setDeleted, { id: key.id, at })
  return { type: 'deleted' }
}

const idOf = ({ organizationId, id }: Pick<Conversation, 'organizationId' | 'id'>) => ({
  organization: organizationId,
  id,
})

export async function insertConversation(db: Executor, conversation: Conversation): Promise<void> {
  await db.run(insert, conversationRowOf(conversation))
}

export async function moveContext(db: Executor, id: ConversationId, contextStart: number): Promise<void> {
  await db.run(setContextStart, { id, start: contextStart })
}

export async function clearList(db: Executor, id: ConversationId, listStart: number): Promise<void> {
  await db.run(setListStart, { id, start: listStart })
}

const insert = insertInto('conversations', CONVERSATION_COLUMNS)

const update = updateById('conversations', [
  'summary',
  'hidden',
  'own_blocks',
  'details',
  'archived_at',
  'updated_at',
  'last_message_at',
])

const setDeleted = statement<{ id: ConversationId; at: number }>()((db, p) =>
  db
    .updateTable('conversations')
    .set({ deleted_at: p('at') })
    .where('id', '=', p('id')),
)

type Key = { organization: OrganizationId; id: ConversationId }

const byIdLocked = (isLocked: boolean) =>
  statement<Key>()((db, p, { lock }) => {
    const found = db
      .selectFrom('conversations')
      .selectAll()
      .where('id', '=', p('id'))
      .where('organization_id', '=', p('organization'))
      .where('deleted_at', 'is', null)
    return isLocked ? lock(found) : found
  })

const byId = byIdLocked(false)
const forUpdate = byIdLocked(true)

const anywhere = statement<{ id: ConversationId }>()((db, p) =>
  db.selectFrom('conversations').select(['organization_id', 'agent_id', 'deleted_at']).where('id', '=', p('id')),
)

/** Serializes openers of runs in one conversation. */
export const takeOpeningLock = statement<Key>()((db, p, { openingLock }) =>
  db
    .selectFrom('conversations')
    .select(['id', 'agent_id', openingLock(p('id')).as('right')])
    .where('id', '=', p('id'))
    .where('organization_id', '=', p('organization'))
    .where('deleted_at', 'is', null),
)

const activeIn = statement<{ id: ConversationId }>()((db, p) =>
  db
    .selectFrom('runs')
    .select('id')
    .where('conversation_id', '=', p('id'))
    .where(sql<boolean>`(status = 'created' or status = 'running' or waiting = 1)`)
    .orderBy('number'),
)

const defaultOfAgent = statement<{ organization: OrganizationId; agent: AgentId }>()((db, p) =>
  db
    .selectFrom('conversations')
    .selectAll()
    .where('agent_id', '=', p('agent'))
    .where('is_default', '=', sql.lit(1))
    .where('organization_id', '=', p('organization')),
)

const ofAgent = statement<{ organization: OrganizationId; agent: AgentId }>()((db, p) =>
  db
    .selectFrom('conversations')
    .selectAll()
    .where('agent_id', '=', p('agent'))
    .where('organization_id', '=', p('organization'))
    .where('deleted_at', 'is', null)
    .orderBy('number', 'desc'),
)

const setListStart = statement<{ id: ConversationId; start: number }>()((db, p) =>
  db
    .updateTable('conversations')
    .set({ list_start: p('start') })
    .where('id', '=', p('id')),
)

const setContextStart = statement<{ id: ConversationId; start: number }>()((db, p) =>
  db
    .updateTable('conversations')
    // A new context needs a newly compiled system prompt.
    .set({ context_start: p('start'), system_prompt: sql`null` })
    .where('id', '=', p('id')),
)
