import { type Kysely, type Selectable, sql } from 'kysely'
import { type Change, type ChangePosition, FIRST_POSITION, isAfter } from '../../core/change.ts'
import { defined } from '../../core/defined.ts'
import type { OrganizationId } from '../../core/id.ts'
import type { ChangeStore } from '../../ports/change-store.ts'
import type { Database } from '../database/database.ts'
import type { Dialect } from '../database/dialect.ts'
import { type Executor, type Parameter, statement } from '../database/statement.ts'
import type { ChangesTable, Tables } from '../rows/tables.ts'

export function changeStore({ read, write }: Database): ChangeStore {
  return {
    newest: () => read(newestPosition),

    after: (position, { organizationId, limit }) =>
      read(async (db) => {
        const pruned = await db.get(lastPruned, {})
        if (pruned && position.number < pruned.number) return { type: 'gone' as const }
        // A reader that is ahead of the database has seen a later copy of it: this one was restored from a backup.
        if (isAfter(position, await newestPosition(db))) return { type: 'gone' as const }
        const from = { transaction: position.transaction, number: position.number, limit }
        const rows = organizationId
          ? await db.all(ofOrganizationAfter, { ...from, organization: organizationId })
          : await db.all(ofAllAfter, from)
        return { type: 'changes' as const, changes: rows.map(changeOf) }
      }),

    prune: (now, keptMs) =>
      write({
        key: '',
        async work(db) {
          const newest = await db.get(newestNumber, {})
          if (newest) await db.run(mark, { number: newest.number, at: now })
          const reached = await db.get(newestMarkBefore, { before: now - keptMs })
          if (!reached) return true
          // The newest change stays, because it is the position of a reader that is up to date.
          await db.run(removeChanges, { below: reached.number })
          await db.run(removeMarks, { below: reached.number })
          await db.run(markPruned, { number: reached.number })
          return true
        },
        findCommitted: () => undefined,
      }).then(() => undefined),
  }
}

/** An empty feed begins at its last mark. */
async function newestPosition(db: Executor): Promise<ChangePosition> {
  const newest = await db.get(newestVisible, {})
  if (newest) return newest
  const pruned = await db.get(lastPruned, {})
  return pruned ? { transaction: 0, number: pruned.number } : FIRST_POSITION
}

const changeOf = (row: Selectable<ChangesTable>): Change => ({
  organizationId: row.organization_id,
  kind: row.kind,
  id: row.subject_id,
  verb: row.verb,
  position: { transaction: row.txid, number: row.number },
  ...defined({ agentId: row.agent_id ?? undefined, conversationId: row.conversation_id ?? undefined }),
})

/** On PostgreSQL an open transaction may still add a change below its own; what is older than all of them is final. */
const isFinal = ({ name }: Dialect) =>
  name === 'postgres'
    ? sql<boolean>`txid < cast(cast(pg_snapshot_xmin(pg_current_snapshot()) as text) as bigint)`
    : sql<boolean>`1 = 1`

const newestVisible = statement<Record<never, never>>()((db, _, dialect) =>
  db
    .selectFrom('changes')
    .select(['txid as transaction', 'number'])
    .where(isFinal(dialect))
    .orderBy(dialect.name === 'postgres' ? 'txid' : 'number', 'desc')
    .orderBy('number', 'desc')
    .limit(1),
)

type From = { transaction: number; number: number; limit: number }

const ofAllAfter = statement<From>()((db, p, dialect) => changesAfter(db, p, dialect))

const ofOrganizationAfter = statement<From & { organization: OrganizationId }>()((db, p, dialect) =>
  changesAfter(db, p, dialect).where('organization_id', '=', p('organization')),
)

const changesAfter = (db: Kysely<Tables>, p: Parameter<From>, dialect: Dialect) =>
  dialect.name === 'postgres'
    ? db
        .selectFrom('changes')
        .selectAll()
        .where(sql<boolean>`(txid, number) > (${p('transaction')}, ${p('number')})`)
        .where(isFinal(dialect))
        .orderBy('txid')
        .orderBy('number')
        .limit(p('limit'))
    : db.selectFrom('changes').selectAll().where('number', '>', p('number')).orderBy('number').limit(p('limit'))

const newestNumber = statement<Record<never, never>>()((db) =>
  db.selectFrom('changes').select('number').orderBy('number', 'desc').limit(1),
)

const lastPruned = statement<Record<never, never>>()((db) =>
  db.selectFrom('change_marks').select('number').where('pruned', '=', 1).orderBy('number', 'desc').limit(1),
)

const newestMarkBefore = statement<{ before: number }>()((db, p) =>
  db.selectFrom('change_marks').select('number').where('at', '<', p('before')).orderBy('number', 'desc').limit(1),
)

const mark = statement<{ number: number; at: number }>()((db, p) =>
  db
    .insertInto('change_marks')
    .values({ number: p('number'), at: p('at'), pruned: 0 })
    .onConflict((conflict) => conflict.column('number').doNothing()),
)

const markPruned = statement<{ number: number }>()((db, p) =>
  db.updateTable('change_marks').set({ pruned: 1 }).where('number', '=', p('number')),
)

const removeChanges = statement<{ below: number }>()((db, p) =>
  db.deleteFrom('changes').where('number', '<', p('below')),
)

const removeMarks = statement<{ below: number }>()((db, p) =>
  db.deleteFrom('change_marks').where('number', '<', p('below')),
)
