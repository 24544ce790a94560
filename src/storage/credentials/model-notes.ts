import { type SqlBool, sql } from 'kysely'
import type { CredentialId } from '../../core/credential.ts'
import type { OrganizationId } from '../../core/id.ts'
import type { ModelNote } from '../../core/model-note.ts'
import type { ModelNoteStore } from '../../ports/credential-store.ts'
import type { Database } from '../database/database.ts'
import { parametersOf } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { MODEL_NOTE_COLUMNS, modelNoteOf, modelNoteRowOf } from '../rows/model-note-row.ts'
import type { NewRow } from '../rows/tables.ts'

export function modelNoteStore({ read, write }: Database): ModelNoteStore {
  return {
    get: (organization, provider, model) =>
      read(async (db) => (await db.all(ofModel, { organization, provider, model })).map(modelNoteOf)),

    list: (organization, at) => read(async (db) => (await db.all(current, { organization, at })).map(modelNoteOf)),

    forget: (organization, { provider, model }) =>
      write({
        key: '',
        work: (db) => db.run(removeMatching, { organization, provider: provider ?? '', model: model ?? '' }),
        findCommitted: () => undefined,
      }),
  }
}

/** Runs in the transaction of the event. The note learned last wins. */
export async function noteModel(db: Executor, organization: OrganizationId, note: ModelNote): Promise<void> {
  await db.run(set, { ...modelNoteRowOf(note), organization_id: organization })
}

export async function forgetNotesOf(db: Executor, organization: OrganizationId, id: CredentialId): Promise<void> {
  await db.run(removeOfCredential, { organization, id })
}

const set = statement<NewRow<'model_notes'>>()((db, p) =>
  db
    .insertInto('model_notes')
    .values(parametersOf(p, ['organization_id', ...MODEL_NOTE_COLUMNS]))
    .onConflict((conflict) =>
      conflict.columns(['organization_id', 'provider', 'model', 'credential_id', 'kind']).doUpdateSet(({ ref }) => ({
        value: ref('excluded.value'),
        noted_at: ref('excluded.noted_at'),
        expires_at: ref('excluded.expires_at'),
        run_id: ref('excluded.run_id'),
      })),
    ),
)

const ofModel = statement<{ organization: OrganizationId; provider: string; model: string }>()((db, p) =>
  db
    .selectFrom('model_notes')
    .select(MODEL_NOTE_COLUMNS)
    .where('organization_id', '=', p('organization'))
    .where('provider', '=', p('provider'))
    .where('model', '=', p('model')),
)

const current = statement<{ organization: OrganizationId; at: number }>()((db, p) =>
  db
    .selectFrom('model_notes')
    .select(MODEL_NOTE_COLUMNS)
    .where('organization_id', '=', p('organization'))
    .where('expires_at', '>', p('at'))
    .orderBy('provider')
    .orderBy('model')
    .orderBy('kind')
    .orderBy('credential_id'),
)

/** An empty name matches every one. */
const removeMatching = statement<{ organization: OrganizationId; provider: string; model: string }>()((db, p) =>
  db
    .deleteFrom('model_notes')
    .where('organization_id', '=', p('organization'))
    .where(sql<SqlBool>`(cast(${p('provider')} as text) = '' or provider = ${p('provider')})`)
    .where(sql<SqlBool>`(cast(${p('model')} as text) = '' or model = ${p('model')})`),
)

const removeOfCredential = statement<{ organization: OrganizationId; id: CredentialId }>()((db, p) =>
  db.deleteFrom('model_notes').where('organization_id', '=', p('organization')).where('credential_id', '=', p('id')),
)
