import { type SqlBool, sql } from 'kysely'
import type { ConversationId } from '../../core/id.ts'
import { type Executor, type Parameter, statement } from '../database/statement.ts'

type IndexRange = { conversation: ConversationId; from: number; to: number }

/** Gives messages copied by a fork the vectors of their originals, so that no text is embedded twice. */
export async function inheritVectors(db: Executor, range: IndexRange): Promise<void> {
  await db.run(markInherited, range)
  await db.run(copyVectors, range)
}

/** Original messages with their index rows. */
const FROM_ORIGINALS = sql`from messages as original join message_index as original_index
  on original_index.conversation_id = original.conversation_id and original_index.position = original.position`

const inIndexRange = (p: Parameter<IndexRange>) => sql<SqlBool>`message_index.conversation_id = ${p('conversation')}
  and message_index.position >= ${p('from')} and message_index.position < ${p('to')}
  and message_index.copy_of is not null`

const markInherited = statement<IndexRange>()((db, p) =>
  db
    .updateTable('message_index')
    .set({
      embedded_by: sql`(select original_index.embedded_by ${FROM_ORIGINALS} where original.id = message_index.copy_of)`,
    })
    .where(inIndexRange(p)),
)

const copyVectors = statement<IndexRange>()((db, p) =>
  db
    .insertInto('message_vectors')
    .columns(['message_number', 'vector', 'refusal'])
    .expression(
      sql`select message_index.number, original_vector.vector, original_vector.refusal
        ${FROM_ORIGINALS} join message_index on message_index.copy_of = original.id
        join message_vectors as original_vector on original_vector.message_number = original_index.number
        where ${inIndexRange(p)} and message_index.embedded_by is not null` as never,
    )
    .onConflict((conflict) => conflict.doNothing()),
)
