import { type SqlBool, sql } from 'kysely'
import type { ConversationId } from '../../core/id.ts'
import { type Executor, type Parameter, statement } from '../database/statement.ts'

type IndexRange = { conversation: ConversationId; from: number; to: number }

/** Copies the vectors of the originals for messages copied by a fork, so that no text is embedded twice. */
export async function inheritVectors(db: Executor, range: IndexRange): Promise<void> {
  await db.run(markInherited, range)
  await db.run(copyVectors, range)
}

/** Joins a copied message to the index row of its original. */
const ORIGINAL = sql`from messages as original join message_index as home
  on home.conversation_id = original.conversation_id and home.position = original.position`

const inIndexRange = (p: Parameter<IndexRange>) => sql<SqlBool>`message_index.conversation_id = ${p('conversation')}
  and message_index.position >= ${p('from')} and message_index.position < ${p('to')}
  and message_index.copy_of is not null`

const markInherited = statement<IndexRange>()((db, p) =>
  db
    .updateTable('message_index')
    .set({ embedded_by: sql`(select home.embedded_by ${ORIGINAL} where original.id = message_index.copy_of)` })
    .where(inIndexRange(p)),
)

const copyVectors = statement<IndexRange>()((db, p) =>
  db
    .insertInto('message_vectors')
    .columns(['message_number', 'vector', 'refusal'])
    .expression(
      sql`select message_index.number, known.vector, known.refusal
        ${ORIGINAL} join message_index on message_index.copy_of = original.id
        join message_vectors as known on known.message_number = home.number
        where ${inIndexRange(p)} and message_index.embedded_by is not null` as never,
    )
    .onConflict((conflict) => conflict.doNothing()),
)
