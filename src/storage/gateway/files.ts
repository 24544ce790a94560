import { sql } from 'kysely'
import type { ConversationId, OrganizationId, RunId } from '../../core/id.ts'
import type { GatewayStore } from '../../ports/gateway-store.ts'
import type { Database } from '../database/database.ts'
import { parametersOf } from '../database/row-statements.ts'
import { statement } from '../database/statement.ts'
import { GATEWAY_FILE } from '../rows/gateway-rows.ts'
import type { NewRow } from '../rows/tables.ts'

type FileStore = Pick<GatewayStore, 'isOfChat' | 'addFile' | 'filesOf' | 'fileBytes' | 'removeFile'>

export function fileStore({ read, write }: Database): FileStore {
  return {
    isOfChat: (organization, conversation) =>
      read(async (db) => (await db.get(chatOf, { organization, conversation })) !== undefined),

    addFile: (file, bytes, most) =>
      write({
        key: `gateway files ${file.runId}`,
        async work(db) {
          const others = (await db.all(ofRun, { run: file.runId })).filter((row) => row.file_id !== file.id)
          if (others.length >= most) return 'too-many'
          await db.run(insert, { ...GATEWAY_FILE.rowOf(file), content: Buffer.from(bytes).toString('base64') })
          return 'stored'
        },
        findCommitted: () => undefined,
      }),

    filesOf: (run) => read(async (db) => (await db.all(ofRun, { run })).map(GATEWAY_FILE.objectOf)),

    fileBytes: (organization, id) =>
      read(async (db) => {
        const row = await db.get(contentOf, { organization, id })
        return row && Buffer.from(row.content, 'base64')
      }),

    removeFile: (organization, id) =>
      write({
        key: `gateway file ${id}`,
        work: (db) => db.run(remove, { organization, id }),
        findCommitted: () => undefined,
      }).then(() => undefined),
  }
}

const chatOf = statement<{ organization: OrganizationId; conversation: ConversationId }>()((db, p) =>
  db
    .selectFrom('gateway_sessions')
    .select('session_key')
    .where('conversation_id', '=', p('conversation'))
    .where('organization_id', '=', p('organization'))
    .limit(sql.lit(1)),
)

const ofRun = statement<{ run: RunId }>()((db, p) =>
  db
    .selectFrom('gateway_files')
    .select(GATEWAY_FILE.columns)
    .where('run_id', '=', p('run'))
    .orderBy('created_at')
    .orderBy('file_id'),
)

const insert = statement<NewRow<'gateway_files'>>()((db, p) =>
  db
    .insertInto('gateway_files')
    .values(parametersOf(p, [...GATEWAY_FILE.columns, 'content']))
    .onConflict((conflict) => conflict.column('file_id').doNothing()),
)

type Key = { organization: OrganizationId; id: string }

const contentOf = statement<Key>()((db, p) =>
  db
    .selectFrom('gateway_files')
    .select('content')
    .where('organization_id', '=', p('organization'))
    .where('file_id', '=', p('id')),
)

const remove = statement<Key>()((db, p) =>
  db.deleteFrom('gateway_files').where('organization_id', '=', p('organization')).where('file_id', '=', p('id')),
)

/** Files that no chat was sent, for example of a run that was deleted. */
export const pruneFiles = statement<{ organization: OrganizationId; account: string; before: number }>()((db, p) =>
  db
    .deleteFrom('gateway_files')
    .where('organization_id', '=', p('organization'))
    .where('created_at', '<', p('before'))
    .where(sql<boolean>`cast(${p('account')} as text) <> ''`),
)
