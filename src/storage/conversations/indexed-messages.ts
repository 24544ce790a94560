import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { AgentId, ConversationId, MessageId, OrganizationId } from '../../core/id.ts'
import type { MessageBody, MessageRole } from '../../core/message.ts'
import { searchableText, tokensIn } from '../../core/search-terms.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Database } from '../database/database.ts'
import { insertInto, parametersOf } from '../database/row-statements.ts'
import { type Executor, type Parameter, statement } from '../database/statement.ts'
import type { NewRow } from '../rows/tables.ts'
import { inheritVectors } from './inherited-vectors.ts'

/** Which conversations to index; empty for all. */
type IndexScope = { organizationId?: OrganizationId; agentId?: AgentId; conversationId?: ConversationId }

/** Messages per commit: the longest that a concurrent turn waits (measured on SQLite: 10 ms). */
const BATCH = 100
const BATCH_CHARACTERS = 200_000
const CONVERSATIONS_AT_ONCE = 32
/** Limit for virtual clocks, which do not advance during the loop. */
const MAX_BATCHES = 100

type CatchUpOptions = { scope: IndexScope; forMs: number }

/**
 * Indexes new messages in small commits until the time is used up. Several processes may do this concurrently: each
 * batch moves the head of its conversation by compare-and-swap, so only one of them succeeds.
 */
export async function catchUpIndex(
  { read, write, dialect }: Database,
  { scope, forMs }: CatchUpOptions,
  clock: Pick<Clock, 'monotonic'>,
): Promise<'done' | 'more'> {
  const end = clock.monotonic() + forMs
  let batches = 0
  for (;;) {
    const lagging = await read((db) =>
      db.all(LAGGING[scopeKindOf(scope)], { ...valuesOf(scope), limit: CONVERSATIONS_AT_ONCE }),
    )
    if (lagging.length === 0) return 'done'
    for (const conversation of lagging) {
      if (clock.monotonic() > end || ++batches > MAX_BATCHES) return 'more'
      const batch = await read((db) => readBatch(db, conversation))
      await write({
        key: conversation.id,
        work: (db) => indexBatch(db, { ...batch, conversation, name: dialect.name }),
      })
    }
  }
}

export async function countLagging({ read }: Database, limit: number): Promise<number> {
  const lagging = await read((db) => db.all(LAGGING[scopeKindOf({})], { ...valuesOf({}), limit }))
  return lagging.length
}

/** Removes index rows of one deleted conversation. */
export async function sweepIndex({ read, write }: Database): Promise<'done' | 'more'> {
  const gone = await read((db) => db.get(goneConversation, {}))
  if (!gone) return 'done'
  const conversation = gone.conversation_id
  await write({
    key: conversation,
    async work(db) {
      const removed = await db.run(removeSome, { conversation, limit: BATCH * 5 })
      if (removed === 0) await db.run(resetHead, { conversation })
    },
  })
  return 'more'
}

type LaggingConversation = {
  id: ConversationId
  organization_id: OrganizationId
  agent_id: AgentId
  upTo: number
  done: number
}
type IndexedMessage = { position: number; role: MessageRole; at: number; copyOf: MessageId | null; tokens: string[] }
type IndexBatch = { messages: IndexedMessage[]; head: number }

async function readBatch(db: Executor, { id, done, upTo }: LaggingConversation): Promise<IndexBatch> {
  const rows = await db.all(messagesFrom, { conversation: id, from: done, limit: BATCH })
  const messages: IndexedMessage[] = []
  let characters = 0
  for (const { position, role, created_at, copy_of, body } of rows) {
    if (messages.length > 0 && characters + body.length > BATCH_CHARACTERS) break
    characters += body.length
    const tokens = tokensIn(searchableText(JSON.parse(body) as MessageBody))
    messages.push({ position, role, at: created_at, copyOf: copy_of, tokens })
  }
  const after = (messages.at(-1)?.position ?? -1) + 1
  // A position without a message is skipped only at the end of the conversation, where the head moves to `upTo`.
  return { messages, head: messages.length < rows.length || rows.length === BATCH ? after : Math.max(after, upTo) }
}

async function indexBatch(
  db: Executor,
  {
    messages,
    head,
    conversation,
    name,
  }: IndexBatch & { conversation: LaggingConversation; name: 'sqlite' | 'postgres' },
): Promise<void> {
  const { id, agent_id: agent, done } = conversation
  if (!(await db.get(lockIfPresent, { conversation: id }))) return
  await db.run(addHead, { conversation: id, agent })
  if ((await db.run(moveHead, { conversation: id, from: done, to: head })) === 0) return
  const nonEmpty = messages.filter(({ tokens }) => tokens.length > 0)
  if (nonEmpty.length > 0) await INSERTS[name](db, conversation, nonEmpty)
  if (nonEmpty.some(({ copyOf }) => copyOf !== null))
    await inheritVectors(db, { conversation: id, from: done, to: head })
}

const INSERTS = {
  async sqlite(db: Executor, conversation: LaggingConversation, messages: IndexedMessage[]): Promise<void> {
    const { id, organization_id: organization, agent_id: agent } = conversation
    const scope = [organization, agent, id].map(scopeToken).join(' ')
    for (const { position, role, at, copyOf, tokens } of messages) {
      const made = await db.get(insertIndexRow, {
        organization_id: organization,
        agent_id: agent,
        conversation_id: id,
        position,
        role,
        created_at: at,
        copy_of: copyOf,
      })
      if (made) await db.run(insertWords, { rowid: made.number, scope, content: tokens.join(' ') })
    }
  },
  async postgres(db: Executor, conversation: LaggingConversation, messages: IndexedMessage[]): Promise<void> {
    const { id, organization_id: organization, agent_id: agent } = conversation
    const items = messages.map(({ position, role, at, copyOf, tokens }) => ({
      position,
      role,
      at,
      copy_of: copyOf,
      words: lexemesOf(tokens),
    }))
    await db.run(insertAll, { organization, agent, conversation: id, items: JSON.stringify(items) })
  },
}

/** An id as a single search token. */
export const scopeToken = (id: string): string => id.replaceAll(/[^a-zA-Z0-9]/g, '')

/** Limits of a PostgreSQL tsvector: positions per word, and the highest position. */
const MAX_POSITIONS_PER_WORD = 200
const MAX_POSITION = 16_383

/** The tokens with their positions, in tsvector syntax. */
function lexemesOf(tokens: readonly string[]): string {
  const positions = new Map<string, number[]>()
  for (const [index, token] of tokens.entries()) {
    const known = positions.get(token)
    if (!known) positions.set(token, [Math.min(index + 1, MAX_POSITION)])
    else if (known.length < MAX_POSITIONS_PER_WORD) known.push(Math.min(index + 1, MAX_POSITION))
  }
  return [...positions].map(([token, at]) => `'${token}':${at.join(',')}`).join(' ')
}

type ScopeKind = 'everything' | 'organization' | 'agent' | 'conversation'

const scopeKindOf = ({ organizationId, agentId, conversationId }: IndexScope): ScopeKind =>
  conversationId ? 'conversation' : agentId ? 'agent' : organizationId ? 'organization' : 'everything'

const valuesOf = ({ organizationId, agentId, conversationId }: IndexScope): IndexScopeValues => ({
  organization: organizationId ?? '',
  agent: agentId ?? '',
  conversation: conversationId ?? '',
})

/** An empty value matches all. */
type IndexScopeValues = { organization: string; agent: string; conversation: string }

const ofOrganization = (p: Parameter<IndexScopeValues>) =>
  sql<SqlBool>`conversations.organization_id = ${p('organization')}`

const SCOPE_CONDITIONS: Record<ScopeKind, (p: Parameter<IndexScopeValues>) => RawBuilder<SqlBool>> = {
  everything: () => sql<SqlBool>`1 = 1`,
  organization: ofOrganization,
  agent: (p) => sql<SqlBool>`conversations.agent_id = ${p('agent')} and ${ofOrganization(p)}`,
  conversation: (p) => sql<SqlBool>`conversations.id = ${p('conversation')} and ${ofOrganization(p)}`,
}

/** One statement per scope, so that each uses an index. Newest conversations first, because they are searched most. */
const laggingIn = (width: ScopeKind) =>
  statement<IndexScopeValues & { limit: number }>()((db, p) =>
    db
      .selectFrom('conversations')
      .leftJoin('message_index_heads as heads', 'heads.conversation_id', 'conversations.id')
      .select(['conversations.id', 'conversations.organization_id', 'conversations.agent_id'])
      .select('conversations.next_position as upTo')
      .select(sql<number>`coalesce(heads.next_position, 0)`.as('done'))
      .where(SCOPE_CONDITIONS[width](p))
      .where(sql<SqlBool>`conversations.next_position > coalesce(heads.next_position, 0)`)
      .where('conversations.deleted_at', 'is', null)
      .orderBy('conversations.number', 'desc')
      .limit(p('limit')),
  )

const LAGGING = {
  everything: laggingIn('everything'),
  organization: laggingIn('organization'),
  agent: laggingIn('agent'),
  conversation: laggingIn('conversation'),
}

const messagesFrom = statement<{ conversation: ConversationId; from: number; limit: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(['position', 'role', 'created_at', 'copy_of', 'body'])
    .where('conversation_id', '=', p('conversation'))
    .where('position', '>=', p('from'))
    .orderBy('position')
    .limit(p('limit')),
)

/** Blocks the deletion of the agent, but not turns that append messages. */
const lockIfPresent = statement<{ conversation: ConversationId }>()((db, p, { name }) => {
  const query = db
    .selectFrom('conversations')
    .select('id')
    .where('id', '=', p('conversation'))
    .where('deleted_at', 'is', null)
  return name === 'postgres' ? query.forKeyShare() : query
})

const addHead = statement<{ conversation: ConversationId; agent: AgentId }>()((db, p) =>
  db
    .insertInto('message_index_heads')
    .values({ conversation_id: p('conversation'), agent_id: p('agent'), next_position: sql.lit(0) })
    .onConflict((conflict) => conflict.doNothing()),
)

const moveHead = statement<{ conversation: ConversationId; from: number; to: number }>()((db, p) =>
  db
    .updateTable('message_index_heads')
    .set({ next_position: p('to') })
    .where('conversation_id', '=', p('conversation'))
    .where('next_position', '=', p('from')),
)

/** Indexes the whole conversation again, because a repair inserted a message below the head. */
export const resetHead = statement<{ conversation: ConversationId }>()((db, p) =>
  db.deleteFrom('message_index_heads').where('conversation_id', '=', p('conversation')),
)

const INDEX_COLUMNS = [
  'organization_id',
  'agent_id',
  'conversation_id',
  'position',
  'role',
  'created_at',
  'copy_of',
] as const

const insertIndexRow = statement<Pick<NewRow<'message_index'>, (typeof INDEX_COLUMNS)[number]>>()((db, p) =>
  db
    .insertInto('message_index')
    .values(parametersOf(p, INDEX_COLUMNS))
    .onConflict((conflict) => conflict.columns(['conversation_id', 'position']).doNothing())
    .returning('number'),
)

const insertWords = insertInto('message_words', ['rowid', 'scope', 'content'])

/** Inserts a whole batch in one round trip. */
const insertAll = statement<{
  organization: OrganizationId
  agent: AgentId
  conversation: ConversationId
  items: string
}>()((db, p) =>
  db
    .insertInto('message_index')
    .columns([
      ...(['organization_id', 'agent_id', 'conversation_id', 'position', 'role', 'created_at', 'copy_of'] as const),
      'search' as never,
    ])
    .expression(
      sql`select cast(${p('organization')} as text), cast(${p('agent')} as text), cast(${p('conversation')} as text),
        item.position, item.role, item.at, item.copy_of, cast(item.words as tsvector)
        from json_to_recordset(cast(${p('items')} as json))
        as item(position integer, role text, at bigint, copy_of text, words text)` as never,
    )
    .onConflict((conflict) => conflict.columns(['conversation_id', 'position']).doNothing()),
)

const goneConversation = statement<Record<never, never>>()((db) =>
  db
    .selectFrom('message_index_heads as heads')
    .select('heads.conversation_id')
    .where(
      sql<SqlBool>`not exists (select 1 from conversations
        where conversations.id = heads.conversation_id and conversations.deleted_at is null)`,
    )
    .limit(sql.lit(1)),
)

const removeSome = statement<{ conversation: ConversationId; limit: number }>()((db, p) =>
  db
    .deleteFrom('message_index')
    .where('number', 'in', (from) =>
      from
        .selectFrom('message_index')
        .select('number')
        .where('conversation_id', '=', p('conversation'))
        .limit(p('limit')),
    ),
)
