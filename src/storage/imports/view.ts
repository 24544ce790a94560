import { sql } from 'kysely'
import type { ConversationId, MessageId, OrganizationId } from '../../core/id.ts'
import { type Executor, listParameters, listValues, type Slots, statement } from '../database/statement.ts'

type ImportedView = { organization: OrganizationId; conversation: ConversationId; inView: readonly MessageId[] }

const VIEW_AT_ONCE = 64

/** The model's view begins at the first of these messages, in a conversation that no run has used. */
export async function setImportedView(
  db: Executor,
  { organization, conversation, inView }: ImportedView,
): Promise<void> {
  let start: number | undefined
  for (let from = 0; from < inView.length; from += VIEW_AT_ONCE) {
    const slots = listValues('id', inView.slice(from, from + VIEW_AT_ONCE), VIEW_AT_ONCE)
    const row = await db.get(firstOf, { conversation, ...slots })
    if (row?.first !== null && row?.first !== undefined) start = Math.min(start ?? row.first, row.first)
  }
  const at = start ?? (await db.get(endOf, { conversation }))?.next_position
  if (at !== undefined) await db.run(setStart, { organization, conversation, at })
}

const firstOf = statement<{ conversation: ConversationId } & Slots<'id', MessageId>>()((db, p) => {
  const ids = listParameters(p, 'id', VIEW_AT_ONCE)
  return db
    .selectFrom('messages')
    .select(sql<number | null>`min(position)`.as('first'))
    .where('conversation_id', '=', p('conversation'))
    .where((where) => where.or([where('id', 'in', ids), where('copy_of', 'in', ids)]))
})

const endOf = statement<{ conversation: ConversationId }>()((db, p) =>
  db.selectFrom('conversations').select('next_position').where('id', '=', p('conversation')),
)

export const setStart = statement<{ organization: OrganizationId; conversation: ConversationId; at: number }>()(
  (db, p) =>
    db
      .updateTable('conversations')
      .set({ context_start: p('at'), system_prompt: sql`null` })
      .where('id', '=', p('conversation'))
      .where('organization_id', '=', p('organization'))
      .where((where) =>
        where.not(
          where.exists(where.selectFrom('runs').select('number').where('conversation_id', '=', p('conversation'))),
        ),
      ),
)
