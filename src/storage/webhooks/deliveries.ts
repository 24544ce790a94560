import { type SqlBool, sql } from 'kysely'
import type { OrganizationId, RunId, WebhookId } from '../../core/id.ts'
import { type DeliveryState, healthAfter } from '../../core/webhook.ts'
import type { DeliveryOutcome } from '../../core/webhook-delivery.ts'
import type { AddressTrust } from '../../ports/safe-fetch.ts'
import type { ClaimedDelivery, StoredDelivery, WebhookStore } from '../../ports/webhook-store.ts'
import type { Database } from '../database/database.ts'
import { type Executor, statement } from '../database/statement.ts'
import { type DeliveryRow, deliveryOf, webhookOf } from '../rows/webhook-row.ts'

/** Sorts after all other jobs of a commit: it skips locked rows, and locks none that another job may wait for. */
const LAST = '~'

type DeliveryStore = Pick<
  WebhookStore,
  'deliveries' | 'delivery' | 'redeliver' | 'addTest' | 'nextDue' | 'claim' | 'record' | 'prune'
>

export function deliveryStore({ read, write }: Database): DeliveryStore {
  return {
    deliveries: (organization, filter, { limit, before = Number.MAX_SAFE_INTEGER }) =>
      read(async (db) => {
        const { webhookId: webhook = '', state = '' } = filter
        const values: Listed & { limit: number } = { organization, webhook, state, before, limit }
        return (await db.all(listed, values)).map(storedOf)
      }),

    delivery: (organization, number) =>
      read(async (db) => {
        const row = await db.get(byNumber, { organization, number })
        return row && storedOf(row)
      }),

    redeliver: (organization, number, at) =>
      write({
        key: LAST,
        async work(db) {
          const row = await db.get(makeDue, { organization, number, at })
          return row && storedOf(row)
        },
        // Repeating it is harmless.
        findCommitted: () => undefined,
      }),

    addTest: ({ organizationId: organization, id: webhook }, { eventId: event, at }) =>
      write({
        key: LAST,
        work: async (db) => storedOf((await db.get(insertTest, { organization, webhook, event, at }))!),
        findCommitted: async (db) => {
          const row = await db.get(byEvent, { webhook, event })
          return row && storedOf(row)
        },
      }),

    nextDue: () => read(async (db) => (await db.get(firstDue, {}))?.due_at ?? undefined),

    claim: (now, leaseMs, busy = []) =>
      write({
        key: LAST,
        work: (db) => claimDue(db, { now, until: now + leaseMs, busy: busy.join(' ') }),
        // A claim of unknown outcome is retried when its lease expires.
        findCommitted: () => undefined,
      }),

    record: (claimed, outcome, now) =>
      write({
        key: claimed.webhookId ?? claimed.runId ?? LAST,
        work: (db) => record(db, claimed, { outcome, now }),
        // Recording the same outcome again is harmless.
        findCommitted: () => undefined,
      }),

    prune: (before, limit) =>
      write({ key: LAST, work: (db) => db.run(removeOld, { before, limit }), findCommitted: () => undefined }),
  }
}

const storedOf = (row: DeliveryRow & { number: number }): StoredDelivery => ({
  ...deliveryOf(row),
  number: Number(row.number),
})

type ClaimValues = { now: number; until: number; busy: string }

async function claimDue(db: Executor, values: ClaimValues): Promise<ClaimedDelivery | undefined> {
  const row = await db.get(claim, values)
  if (!row) return undefined
  const delivery = storedOf(row)
  if (delivery.webhookId) {
    const found = await db.get(webhookById, { id: delivery.webhookId })
    if (!found) return undefined
    const webhook = webhookOf(found)
    return { ...delivery, url: webhook.url, trust: webhook.trust, webhook }
  }
  const run = delivery.runId && (await db.get(callbackOf, { id: delivery.runId }))
  return run ? { ...delivery, url: run.callback_url!, trust: run.callback_reach as AddressTrust } : undefined
}

type Result = { outcome: DeliveryOutcome; now: number }

/** The webhook first, then the delivery: its deletion locks them in the same order. */
async function record(db: Executor, claimed: ClaimedDelivery, { outcome, now }: Result): Promise<boolean> {
  const { webhookId, runId, number, tries } = claimed
  const found = webhookId && (await db.get(lockedWebhook, { id: webhookId }))
  const result = {
    sentAt: outcome.sentAt ?? null,
    status: outcome.statusCode ?? null,
    error: outcome.error ?? null,
  }
  const changed = await db.run(keepOutcome, {
    ...result,
    number,
    tries,
    due: outcome.dueAt ?? null,
    delivered: outcome.error === undefined ? now : null,
  })
  if (changed === 0) return false
  if (found) {
    const { state, stateReason, failingSince, restUntil } = healthAfter(webhookOf(found), outcome, now)
    await db.run(keepHealth, {
      id: found.id,
      state,
      reason: stateReason ?? null,
      failing: failingSince ?? null,
      rest: restUntil ?? null,
    })
  } else if (runId) {
    await db.run(keepOnRun, { ...result, id: runId })
  }
  return true
}

/** Must match the condition of the partial index, or SQLite would not use it. */
const IS_DUE = sql<SqlBool>`due_at is not null`

const firstDue = statement<Record<never, never>>()((db) =>
  db.selectFrom('webhook_deliveries').select('due_at').where(IS_DUE).orderBy('due_at').limit(sql.lit(1)),
)

const claim = statement<ClaimValues>()((db, p, { lockOrSkip }) =>
  db
    .updateTable('webhook_deliveries')
    .set({ due_at: p('until'), tries: sql`tries + 1` })
    .where('number', '=', () =>
      lockOrSkip(
        db
          .selectFrom('webhook_deliveries')
          .select('number')
          .where(IS_DUE)
          .where('due_at', '<=', p('now'))
          .where(sql<SqlBool>`(webhook_id = '' or cast(${p('busy')} as text) not like '%' || webhook_id || '%')`)
          .where(
            sql<SqlBool>`not exists (select 1 from webhooks where webhooks.id = webhook_deliveries.webhook_id
              and webhooks.rest_until > ${p('now')})`,
          )
          .orderBy('due_at')
          .limit(sql.lit(1)),
      ),
    )
    .returningAll(),
)

const webhookById = statement<{ id: WebhookId }>()((db, p) =>
  db.selectFrom('webhooks').selectAll().where('id', '=', p('id')),
)

const lockedWebhook = statement<{ id: WebhookId }>()((db, p, { lock }) =>
  lock(db.selectFrom('webhooks').selectAll().where('id', '=', p('id'))),
)

const callbackOf = statement<{ id: RunId }>()((db, p) =>
  db.selectFrom('runs').select(['callback_url', 'callback_reach']).where('id', '=', p('id')),
)

type ResultValues = { sentAt: number | null; status: number | null; error: string | null }

const keepOutcome = statement<
  ResultValues & { number: number; tries: number; due: number | null; delivered: number | null }
>()((db, p) =>
  db
    .updateTable('webhook_deliveries')
    .set({
      sent_at: p('sentAt'),
      status_code: p('status'),
      error: p('error'),
      due_at: p('due'),
      delivered_at: p('delivered'),
    })
    .where('number', '=', p('number'))
    .where('tries', '=', p('tries'))
    .where(IS_DUE),
)

/** The fields of a run that the client shows. */
const keepOnRun = statement<ResultValues & { id: RunId }>()((db, p) =>
  db
    .updateTable('runs')
    .set({ callback_sent_at: p('sentAt'), callback_status_code: p('status'), callback_error: p('error') })
    .where('id', '=', p('id')),
)

const keepHealth = statement<{
  id: WebhookId
  state: string
  reason: string | null
  failing: number | null
  rest: number | null
}>()((db, p) =>
  db
    .updateTable('webhooks')
    .set({ state: sql`${p('state')}`, state_reason: p('reason'), failing_since: p('failing'), rest_until: p('rest') })
    .where('id', '=', p('id')),
)

type Listed = { organization: OrganizationId; webhook: WebhookId | ''; state: DeliveryState | ''; before: number }

const listed = statement<Listed & { limit: number }>()((db, p) =>
  db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where(sql<SqlBool>`(cast(${p('webhook')} as text) = '' or webhook_id = ${p('webhook')})`)
    .where(
      sql<SqlBool>`(cast(${p('state')} as text) = '' or ${p('state')} =
        case when due_at is not null then 'due' when delivered_at is not null then 'delivered' else 'failed' end)`,
    )
    .where('number', '<', p('before'))
    .orderBy('number', 'desc')
    .limit(p('limit')),
)

const byNumber = statement<{ organization: OrganizationId; number: number }>()((db, p) =>
  db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('number', '=', p('number'))
    .where('organization_id', '=', p('organization')),
)

const byEvent = statement<{ webhook: WebhookId; event: string }>()((db, p) =>
  db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('webhook_id', '=', p('webhook'))
    .where('event_id', '=', p('event')),
)

/** An attempt that is on its way keeps its lease: its result is that of this delivery too. */
const makeDue = statement<{ organization: OrganizationId; number: number; at: number }>()((db, p) =>
  db
    .updateTable('webhook_deliveries')
    .set({
      due_at: sql`coalesce(due_at, ${p('at')})`,
      tries: sql`case when due_at is null then 0 else tries end`,
      delivered_at: null,
    })
    .where('number', '=', p('number'))
    .where('organization_id', '=', p('organization'))
    .returningAll(),
)

const insertTest = statement<{ organization: OrganizationId; webhook: WebhookId; event: string; at: number }>()(
  (db, p) =>
    db
      .insertInto('webhook_deliveries')
      .values({
        organization_id: p('organization'),
        webhook_id: p('webhook'),
        event_id: p('event'),
        type: sql.lit('webhook.test'),
        facts: sql.lit('{}'),
        created_at: p('at'),
        due_at: p('at'),
        tries: sql.lit(0),
      } as never)
      .returningAll(),
)

const removeOld = statement<{ before: number; limit: number }>()((db, p) =>
  db
    .deleteFrom('webhook_deliveries')
    .where('due_at', 'is', null)
    .where('created_at', '<', p('before'))
    .where('number', 'in', (select) =>
      select.selectFrom('webhook_deliveries').select('number').orderBy('number').limit(p('limit')),
    ),
)
