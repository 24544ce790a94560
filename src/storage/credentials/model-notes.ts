import type { OrganizationId } from '../../core/id.ts'
import type { ModelNotes, Target } from '../../core/target.ts'
import type { ModelNoteStore } from '../../ports/credential-store.ts'
import type { Database } from '../database/database.ts'
import { type Executor, statement } from '../database/statement.ts'

export function modelNoteStore({ read, write }: Database): ModelNoteStore {
  return {
    get: (organization, provider, model) =>
      read(async (db) => notesOf(await db.get(one, { organization, provider, model }))),

    list: (organization) =>
      read(async (db) => {
        const rows = await db.all(all, { organization })
        return rows.map((row) => ({ provider: row.provider, model: row.model, notes: notesOf(row) }))
      }),

    forget: (organization, provider, model) =>
      write({
        key: '',
        work: async (db) => (await db.run(remove, { organization, provider, model })) > 0,
        findCommitted: () => undefined,
      }),
  }
}

/** Runs in the transaction of the event. Merges the notes into those already stored. */
export async function noteModel(
  db: Executor,
  organization: OrganizationId,
  { provider, model, notes }: Target & { notes: ModelNotes },
): Promise<void> {
  const key = { organization, provider, model }
  await db.run(addEmpty, key)
  const known = notesOf(await db.get(locked, key))
  await db.run(update, { ...key, notes: JSON.stringify({ ...known, ...notes }) })
}

const notesOf = (row: { notes: string } | undefined): ModelNotes => (row ? JSON.parse(row.notes) : {})

type Key = { organization: OrganizationId; provider: string; model: string }

const noteOf = (isLocked: boolean) =>
  statement<Key>()((db, p, { lock }) => {
    const found = db
      .selectFrom('model_notes')
      .select('notes')
      .where('organization_id', '=', p('organization'))
      .where('provider', '=', p('provider'))
      .where('model', '=', p('model'))
    return isLocked ? lock(found) : found
  })

const one = noteOf(false)
const locked = noteOf(true)

const all = statement<{ organization: OrganizationId }>()((db, p) =>
  db
    .selectFrom('model_notes')
    .select(['provider', 'model', 'notes'])
    .where('organization_id', '=', p('organization'))
    .orderBy('provider')
    .orderBy('model'),
)

const addEmpty = statement<Key>()((db, p) =>
  db
    .insertInto('model_notes')
    .values({ organization_id: p('organization'), provider: p('provider'), model: p('model'), notes: '{}' })
    .onConflict((conflict) => conflict.columns(['organization_id', 'provider', 'model']).doNothing()),
)

const update = statement<Key & { notes: string }>()((db, p) =>
  db
    .updateTable('model_notes')
    .set({ notes: p('notes') })
    .where('organization_id', '=', p('organization'))
    .where('provider', '=', p('provider'))
    .where('model', '=', p('model')),
)

const remove = statement<Key>()((db, p) =>
  db
    .deleteFrom('model_notes')
    .where('organization_id', '=', p('organization'))
    .where('provider', '=', p('provider'))
    .where('model', '=', p('model')),
)
