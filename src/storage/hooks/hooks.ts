import { sql } from 'kysely'
import type { Hook } from '../../core/hook.ts'
import type { HookId, OrganizationId } from '../../core/id.ts'
import type { HookStore, Received, ReceivedDelivery } from '../../ports/hook-store.ts'
import type { Database } from '../database/database.ts'
import { lockAgent } from '../database/lock-agent.ts'
import { insertInto, parametersOf, rowById, updateById } from '../database/row-statements.ts'
import { sealedSecrets } from '../database/sealed-secrets.ts'
import { type Executor, statement } from '../database/statement.ts'
import {
  HOOK_COLUMNS,
  HOOK_DELIVERY_COLUMNS,
  type HookDeliveryRow,
  hookDeliveryOf,
  hookDeliveryRowOf,
  hookOf,
  hookRowOf,
} from '../rows/hook-row.ts'
import { openRun } from '../runs/run-intake.ts'

export function hookStore(database: Database): HookStore {
  const { read, write } = database
  return {
    ...sealedSecrets<HookId>('hooks', database),

    create: (hook, limit) =>
      write({
        key: hook.id,
        work: (db) => create(db, hook, limit),
        findCommitted: async (db) => ((await db.get(byId.plain, keyOf(hook))) ? ('created' as const) : undefined),
      }),

    get: (organization, id) =>
      read(async (db) => {
        const row = await db.get(byId.plain, { organization, id })
        return row && hookOf(row)
      }),

    find: (id) =>
      read(async (db) => {
        const row = await db.get(anywhere, { id })
        return row && hookOf(row)
      }),

    list: (organization) => read(async (db) => (await db.all(ofOrganization, { organization })).map(hookOf)),

    edit: ({ organizationId: organization, id }, edit) =>
      write({
        key: id,
        async work(db) {
          const row = await db.get(byId.locked, { organization, id })
          if (!row) return undefined
          const edited = edit(hookOf(row))
          await db.run(update, hookRowOf(edited))
          return edited
        },
        // Repeating it is harmless.
        findCommitted: () => undefined,
      }),

    delete: ({ organizationId: organization, id }) =>
      write({
        key: id,
        async work(db) {
          if (!(await db.get(byId.locked, { organization, id }))) return false
          await db.run(removeLog, { id })
          await db.run(remove, { id })
          return true
        },
      }),

    receive: (received) =>
      write({
        // By conversation, like every other opener of runs.
        key: received.open.run.conversationId,
        work: (db) => receive(db, received),
        announce: true,
        findCommitted: (db) => findReceived(db, received),
      }),

    log: (delivery) =>
      write({
        key: delivery.hookId,
        work: (db) => db.run(insertDelivery, hookDeliveryRowOf(delivery, null)),
        // At worst the log has it twice.
        findCommitted: () => undefined,
      }).then(() => undefined),

    deliveries: (organization, id, { limit, before = Number.MAX_SAFE_INTEGER }) =>
      read(async (db) =>
        (await db.all(listed, { organization, id, before, limit })).map((row) => ({
          ...hookDeliveryOf(row),
          number: Number(row.number),
        })),
      ),

    prune: (before, limit) =>
      write({ key: '~', work: (db) => db.run(removeOld, { before, limit }), findCommitted: () => undefined }),
  }
}

const keyOf = ({ organizationId: organization, id }: Pick<Hook, 'organizationId' | 'id'>) => ({ organization, id })

/** The limit is counted behind the lock of the agent, like that of schedules. */
async function create(db: Executor, hook: Hook, limit: number): Promise<'created' | 'over-limit' | 'no-agent'> {
  const { organizationId: organization, agentId: agent } = hook
  if (!(await db.get(lockAgent, { organization, agent }))) return 'no-agent'
  if (Number((await db.get(counted, { organization }))?.count ?? 0) >= limit) return 'over-limit'
  await db.run(insert, hookRowOf(hook))
  return 'created'
}

/** The row is inserted first: the same delivery at another server waits for this transaction and finds the run. */
async function receive(db: Executor, { hook, delivery, key, open, refusalOf }: ReceivedDelivery): Promise<Received> {
  if (!(await db.get(byId.locked, keyOf(hook)))) return { type: 'gone' }
  const { id: hookId, organizationId, agentId } = hook
  const entry = { hookId, organizationId, agentId, ...delivery, repeats: 0 }
  const row = hookDeliveryRowOf({ ...entry, outcome: 'accepted', runId: open.run.id }, key)
  if ((await db.run(insertOnce, row)) === 0) {
    const known = await db.get(countRepeat, { id: hookId, key })
    return { type: 'repeated', runId: known!.run_id! }
  }
  const opened = await openRun(db, open)
  if (opened.type === 'opened') return { type: 'accepted', runId: opened.run.id }
  await db.run(refuse, { id: hookId, key, reason: refusalOf(opened) })
  return { type: 'refused', opened }
}

async function findReceived(db: Executor, { hook, key, open }: ReceivedDelivery): Promise<Received | undefined> {
  await db.get(byId.locked, keyOf(hook))
  const known = await db.get(byKey, { id: hook.id, key })
  if (!known?.run_id) return undefined
  return { type: known.run_id === open.run.id ? 'accepted' : 'repeated', runId: known.run_id }
}

const byId = rowById('hooks')
const insert = insertInto('hooks', HOOK_COLUMNS)
const update = updateById('hooks', HOOK_COLUMNS)
const insertDelivery = insertInto('hook_deliveries', HOOK_DELIVERY_COLUMNS)

const insertOnce = statement<HookDeliveryRow>()((db, p) =>
  db
    .insertInto('hook_deliveries')
    .values(parametersOf(p, HOOK_DELIVERY_COLUMNS))
    .onConflict((conflict) => conflict.doNothing()),
)

type OfKey = { id: HookId; key: string }

const byKey = statement<OfKey>()((db, p) =>
  db.selectFrom('hook_deliveries').select('run_id').where('hook_id', '=', p('id')).where('dedupe_key', '=', p('key')),
)

const countRepeat = statement<OfKey>()((db, p) =>
  db
    .updateTable('hook_deliveries')
    .set({ repeats: sql`repeats + 1` })
    .where('hook_id', '=', p('id'))
    .where('dedupe_key', '=', p('key'))
    .returning('run_id'),
)

/** Without its key, so that the sender may try again. */
const refuse = statement<OfKey & { reason: string }>()((db, p) =>
  db
    .updateTable('hook_deliveries')
    .set({ outcome: sql.lit('refused'), reason: p('reason'), run_id: null, dedupe_key: null })
    .where('hook_id', '=', p('id'))
    .where('dedupe_key', '=', p('key')),
)

const anywhere = statement<{ id: HookId }>()((db, p) => db.selectFrom('hooks').selectAll().where('id', '=', p('id')))

const counted = statement<{ organization: OrganizationId }>()((db, p) =>
  db
    .selectFrom('hooks')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('organization_id', '=', p('organization')),
)

const ofOrganization = statement<{ organization: OrganizationId }>()((db, p) =>
  db.selectFrom('hooks').selectAll().where('organization_id', '=', p('organization')).orderBy('number'),
)

const listed = statement<{ organization: OrganizationId; id: HookId; before: number; limit: number }>()((db, p) =>
  db
    .selectFrom('hook_deliveries')
    .selectAll()
    .where('hook_id', '=', p('id'))
    .where('organization_id', '=', p('organization'))
    .where('number', '<', p('before'))
    .orderBy('number', 'desc')
    .limit(p('limit')),
)

const removeLog = statement<{ id: HookId }>()((db, p) =>
  db.deleteFrom('hook_deliveries').where('hook_id', '=', p('id')),
)

const remove = statement<{ id: HookId }>()((db, p) => db.deleteFrom('hooks').where('id', '=', p('id')))

const removeOld = statement<{ before: number; limit: number }>()((db, p) =>
  db
    .deleteFrom('hook_deliveries')
    .where('received_at', '<', p('before'))
    .where('number', 'in', (select) =>
      select.selectFrom('hook_deliveries').select('number').orderBy('number').limit(p('limit')),
    ),
)

/** For checks: entries of the log, and whether their runs exist. */
export async function hookRecords(db: Executor, page: { after: number; limit: number }) {
  const rows = await db.all(entriesAfter, page)
  const items = rows.map(({ found, ...row }) => ({ delivery: hookDeliveryOf(row), hasRun: found !== null }))
  return { items, last: rows.at(-1)?.number }
}

const entriesAfter = statement<{ after: number; limit: number }>()((db, p) =>
  db
    .selectFrom('hook_deliveries')
    .selectAll()
    .select(sql<string | null>`(select id from runs where runs.id = hook_deliveries.run_id)`.as('found'))
    .where('number', '>', p('after'))
    .orderBy('number')
    .limit(p('limit')),
)
