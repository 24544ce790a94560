import { type SqlBool, sql } from 'kysely'
import type { AgentId } from '../../core/id.ts'
import type { MessageBody } from '../../core/message.ts'
import { searchableText } from '../../core/search-terms.ts'
import type { Clock } from '../../ports/clock.ts'
import type { MessageVectors, MessageWithAgent } from '../../ports/message-search-store.ts'
import type { NewVector } from '../../ports/vector-store.ts'
import type { Database } from '../database/database.ts'
import { type Executor, statement } from '../database/statement.ts'
import { findNearest, saveVectors, toVectorColumns, VECTOR_PAGE } from '../memory/vectors.ts'
import { MESSAGE_COLUMNS, messagesWithAgentOf } from '../rows/message-row.ts'
import { inScope, type Scope } from './message-list.ts'
import { matchesFilters, type SearchValues, scopeOf, searchValuesOf } from './search-filters.ts'

/** Rows per commit, so that turns do not wait while the vectors of a whole agent are dropped. */
const DROP_BATCH = 500

/** Vectors of indexed messages. */
export function messageVectors({ read, write }: Database, { soon }: Pick<Clock, 'soon'>): MessageVectors {
  const yieldToOthers = () => new Promise<void>(soon)

  return {
    waiting: (after, limit) =>
      read(async (db) => {
        const rows = await db.page(waitingAfter, { after, limit })
        return rows.map(({ body, ...row }) => ({ ...row, text: searchableText(JSON.parse(body) as MessageBody) }))
      }),

    keep: (vectors) => saveVectors(vectors, keepVector, write),

    models: () => read((db) => db.all(modelsOfAgents, {})),

    async drop(agentId, model) {
      for (;;) {
        const isOver = await write({ key: agentId, work: (db) => dropSome(db, { agent: agentId, model }) })
        if (isOver) return
        await yieldToOthers()
      }
    },

    async nearest(organizationId, agentId, { model, vector, ...query }) {
      const search = { ...query, organizationId, agentId }
      const values = { ...searchValuesOf({ ...search, limit: VECTOR_PAGE }), model }
      const page = VECTORS[scopeOf(search)]
      const best = await findNearest(
        { vector, limit: query.limit },
        (below) => read((db) => db.all(page, { ...values, below })),
        yieldToOthers,
      )
      return read(async (db) => {
        const found: MessageWithAgent[] = []
        for (const number of best) found.push(...messagesWithAgentOf(await db.rows(messageAt, { number })))
        return found
      })
    },
  }
}

async function keepVector(db: Executor, { number, model, result }: NewVector): Promise<void> {
  // Skips messages that were deleted meanwhile.
  if ((await db.run(markEmbedded, { number, model })) === 0) return
  await db.run(keep, { number, ...toVectorColumns(result) })
  await db.run(noteModel, { number, model })
}

type AgentModel = { agent: AgentId; model: string }

/** True: nothing is left. */
async function dropSome(db: Executor, agentModel: AgentModel): Promise<boolean> {
  const numbers = await db.all(embeddedBy, { ...agentModel, limit: DROP_BATCH })
  for (const { number } of numbers) {
    await db.run(forgetVector, { number })
    await db.run(markWaiting, { number })
  }
  if (numbers.length === DROP_BATCH) return false
  await db.run(forgetModel, agentModel)
  return true
}

const waitingAfter = statement<{ after: number; limit: number }>()((db, p) =>
  db
    .selectFrom('message_index')
    .innerJoin('messages', (join) =>
      join
        .onRef('messages.conversation_id', '=', 'message_index.conversation_id')
        .onRef('messages.position', '=', 'message_index.position'),
    )
    .select(['message_index.number', 'messages.body'])
    .select(['message_index.organization_id as organizationId', 'message_index.agent_id as agentId'])
    .where('message_index.number', '>', p('after'))
    // Must match the condition of the partial index.
    .where(sql<SqlBool>`message_index.embedded_by is null and message_index.role in ('user', 'assistant', 'system')`)
    .orderBy('message_index.number')
    .limit(p('limit')),
)

const markEmbedded = statement<{ number: number; model: string }>()((db, p) =>
  db
    .updateTable('message_index')
    .set({ embedded_by: p('model') })
    .where('number', '=', p('number')),
)

const markWaiting = statement<{ number: number }>()((db, p) =>
  db.updateTable('message_index').set({ embedded_by: null }).where('number', '=', p('number')),
)

const keep = statement<{ number: number; vector: string | null; refusal: string | null }>()((db, p) =>
  db
    .insertInto('message_vectors')
    .values({ message_number: p('number'), vector: p('vector'), refusal: p('refusal') })
    .onConflict((conflict) =>
      conflict
        .column('message_number')
        .doUpdateSet((set) => ({ vector: set.ref('excluded.vector'), refusal: set.ref('excluded.refusal') })),
    ),
)

const noteModel = statement<{ number: number; model: string }>()((db, p) =>
  db
    .insertInto('message_vector_models')
    .columns(['agent_id', 'model', 'organization_id'])
    .expression((from) =>
      from
        .selectFrom('message_index')
        .select(['agent_id', sql<string>`cast(${p('model')} as text)`.as('model'), 'organization_id'])
        .where('number', '=', p('number')),
    )
    .onConflict((conflict) => conflict.doNothing()),
)

const modelsOfAgents = statement<Record<never, never>>()((db) =>
  db.selectFrom('message_vector_models').select(['organization_id as organizationId', 'agent_id as agentId', 'model']),
)

const embeddedBy = statement<AgentModel & { limit: number }>()((db, p) =>
  db
    .selectFrom('message_index')
    .select('number')
    .where('agent_id', '=', p('agent'))
    .where('embedded_by', '=', p('model'))
    .limit(p('limit')),
)

const forgetVector = statement<{ number: number }>()((db, p) =>
  db.deleteFrom('message_vectors').where('message_number', '=', p('number')),
)

const forgetModel = statement<AgentModel>()((db, p) =>
  db.deleteFrom('message_vector_models').where('agent_id', '=', p('agent')).where('model', '=', p('model')),
)

type Values = SearchValues & { model: string; below: number }

const vectorsIn = (scope: Scope) =>
  statement<Values>()((db, p) =>
    db
      .selectFrom('message_index')
      .innerJoin('message_vectors', 'message_vectors.message_number', 'message_index.number')
      .select(['message_index.number', 'message_vectors.vector'])
      .where(inScope(p, scope, 'message_index'))
      .where(matchesFilters(p, 'message_index'))
      .where('message_index.embedded_by', '=', p('model'))
      .where('message_vectors.vector', 'is not', null)
      .where('message_index.number', '<', p('below'))
      .orderBy('message_index.number', 'desc')
      .limit(p('limit')),
  )

const VECTORS = { all: vectorsIn('all'), agent: vectorsIn('agent'), conversation: vectorsIn('conversation') }

const messageAt = statement<{ number: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .select([...MESSAGE_COLUMNS, 'agent_id'])
    .where(
      sql<SqlBool>`(conversation_id, position) =
        (select place.conversation_id, place.position from message_index as place where place.number = ${p('number')})`,
    ),
)
