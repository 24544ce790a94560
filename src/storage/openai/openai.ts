import { sql } from 'kysely'
import type { ConversationId, OrganizationId, RunId } from '../../core/id.ts'
import type { OpenaiConversation, OpenaiStore, PlacedRequest } from '../../ports/openai-store.ts'
import type { Database } from '../database/database.ts'
import { insertInto } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'

/** No retry comes this late: the row is no longer needed. */
const KEPT_MS = 60 * 60_000
const PRUNED_AT_ONCE = 20

/** State of the OpenAI-compatible API. */
export function openaiStore({ read, write }: Database): OpenaiStore {
  return {
    place: (request) =>
      write({
        key: request.fingerprint,
        work: (db) => place(db, request),
        // Placed again, the request finds its own row.
        findCommitted: () => undefined,
      }),

    createConversation: (conversation) =>
      write({
        key: conversation.id,
        async work(db) {
          await db.run(insertConversation, rowOf(conversation))
          return true
        },
        findCommitted: async (db) => ((await db.get(byId, keyOf(conversation))) ? true : undefined),
      }).then(() => undefined),

    conversation: (organizationId, id) =>
      read(async (db) => {
        const row = await db.get(byId, keyOf({ organizationId, id }))
        return row && objectOf(row)
      }),

    saveConversation: (conversation) =>
      write({
        key: conversation.id,
        async work(db) {
          const changed = await db.run(setMetadata, {
            id: conversation.id,
            organization: conversation.organizationId,
            metadata: JSON.stringify(conversation.metadata),
          })
          if (changed === 0) await db.run(insertConversation, rowOf(conversation))
          return true
        },
        // Repeating it is harmless.
        findCommitted: () => undefined,
      }).then(() => undefined),

    deleteConversation: (organizationId, id) =>
      write({
        key: id,
        work: async (db) => (await db.run(removeConversation, keyOf({ organizationId, id }))) > 0,
        findCommitted: () => undefined,
      }),

    deleteResponse: (organization, run) =>
      write({
        key: run,
        async work(db) {
          await db.run(insertDeleted, { run_id: run, organization_id: organization })
          return true
        },
        findCommitted: () => undefined,
      }).then(() => undefined),

    isResponseDeleted: (organization, run) =>
      read(async (db) => (await db.get(deletedById, { organization, run })) !== undefined),
  }
}

/** The upsert takes the lock of the row, so that of two copies the second one sees what the first one did. */
async function place(db: Executor, request: PlacedRequest): Promise<ConversationId> {
  const { organizationId, fingerprint, isRetry, at, conversationId, windowMs } = request
  await db.run(prune, { before: at - KEPT_MS })
  const own = {
    organization_id: organizationId,
    fingerprint,
    conversation_id: conversationId,
    awaits_original: isRetry ? 1 : 0,
    placed_at: at,
  }
  const row = await db.get(insertOrLock, own)
  if (!row) throw new Error('an upsert returned no row')
  if (row.conversation_id === conversationId) return conversationId
  const key = { organization: organizationId, fingerprint }
  if (isRetry && row.placed_at > at - windowMs) return row.conversation_id
  // A retry overtook this request: it was placed after this one had arrived.
  if (!isRetry && row.awaits_original === 1 && row.placed_at >= at) {
    await db.run(takeOriginal, key)
    return row.conversation_id
  }
  await db.run(replace, own)
  return conversationId
}

type Row = { id: ConversationId; organization_id: OrganizationId; metadata: string; items: string; created_at: number }

const rowOf = ({ id, organizationId, metadata, items, createdAt }: OpenaiConversation): Row => ({
  id,
  organization_id: organizationId,
  metadata: JSON.stringify(metadata),
  items: JSON.stringify(items),
  created_at: createdAt,
})

const objectOf = ({ id, organization_id, metadata, items, created_at }: Row): OpenaiConversation => ({
  id,
  organizationId: organization_id,
  metadata: JSON.parse(metadata),
  items: JSON.parse(items),
  createdAt: created_at,
})

type Key = { organization: OrganizationId; id: ConversationId }

const keyOf = ({ organizationId, id }: Pick<OpenaiConversation, 'organizationId' | 'id'>): Key => ({
  organization: organizationId,
  id,
})

type RequestRow = {
  organization_id: OrganizationId
  fingerprint: string
  conversation_id: ConversationId
  awaits_original: number
  placed_at: number
}

const insertOrLock = statement<RequestRow>()((db, p) =>
  db
    .insertInto('openai_requests')
    .values({
      organization_id: p('organization_id'),
      fingerprint: p('fingerprint'),
      conversation_id: p('conversation_id'),
      awaits_original: p('awaits_original'),
      placed_at: p('placed_at'),
    })
    .onConflict((conflict) =>
      conflict
        .columns(['organization_id', 'fingerprint'])
        .doUpdateSet({ fingerprint: sql<string>`excluded.fingerprint` }),
    )
    .returning(['conversation_id', 'awaits_original', 'placed_at']),
)

const replace = statement<RequestRow>()((db, p) =>
  db
    .updateTable('openai_requests')
    .set({
      conversation_id: p('conversation_id'),
      awaits_original: p('awaits_original'),
      placed_at: p('placed_at'),
    })
    .where('organization_id', '=', p('organization_id'))
    .where('fingerprint', '=', p('fingerprint')),
)

const takeOriginal = statement<{ organization: OrganizationId; fingerprint: string }>()((db, p) =>
  db
    .updateTable('openai_requests')
    .set({ awaits_original: sql.lit(0) })
    .where('organization_id', '=', p('organization'))
    .where('fingerprint', '=', p('fingerprint')),
)

const prune = statement<{ before: number }>()((db, p) =>
  db
    .deleteFrom('openai_requests')
    .where(
      'fingerprint',
      'in',
      db
        .selectFrom('openai_requests')
        .select('fingerprint')
        .where('placed_at', '<', p('before'))
        .orderBy('placed_at')
        .limit(sql.lit(PRUNED_AT_ONCE)),
    )
    .where('placed_at', '<', p('before')),
)

const insertConversation = insertInto('openai_conversations', [
  'id',
  'organization_id',
  'metadata',
  'items',
  'created_at',
])

const byId = statement<Key>()((db, p) =>
  db
    .selectFrom('openai_conversations')
    .selectAll()
    .where('id', '=', p('id'))
    .where('organization_id', '=', p('organization')),
)

const setMetadata = statement<Key & { metadata: string }>()((db, p) =>
  db
    .updateTable('openai_conversations')
    .set({ metadata: p('metadata') })
    .where('id', '=', p('id'))
    .where('organization_id', '=', p('organization')),
)

const removeConversation = statement<Key>()((db, p) =>
  db.deleteFrom('openai_conversations').where('id', '=', p('id')).where('organization_id', '=', p('organization')),
)

const insertDeleted = statement<{ run_id: RunId; organization_id: OrganizationId }>()((db, p) =>
  db
    .insertInto('openai_deleted_responses')
    .values({ run_id: p('run_id'), organization_id: p('organization_id') })
    .onConflict((conflict) => conflict.column('run_id').doNothing()),
)

const deletedById = statement<{ organization: OrganizationId; run: RunId }>()((db, p) =>
  db
    .selectFrom('openai_deleted_responses')
    .select('run_id')
    .where('run_id', '=', p('run'))
    .where('organization_id', '=', p('organization')),
)
