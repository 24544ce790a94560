import { sql } from 'kysely'
import type { CallbackRecord, DeliveryRecord } from '../../core/invariants/webhooks.ts'
import type { RunStatus } from '../../core/run.ts'
import { type Executor, statement } from '../database/statement.ts'
import { deliveryOf } from '../rows/webhook-row.ts'

type Page = { after: number; limit: number }
type Records<T> = { items: T[]; last: number | undefined }

export async function callbackRecords(db: Executor, page: Page): Promise<Records<CallbackRecord>> {
  const rows = await db.all(callbacks, page)
  const items = rows.map(({ id, status, sent, error, deliveries }) => ({
    runId: id,
    status,
    hasResult: sent !== null || error !== null,
    deliveries: Number(deliveries),
  }))
  return { items, last: rows.at(-1)?.number }
}

export async function deliveryRecords(db: Executor, page: Page): Promise<Records<DeliveryRecord>> {
  const rows = await db.all(deliveries, page)
  const items = rows.map(({ run, ...row }) => ({ delivery: deliveryOf(row), run: run ?? undefined }))
  return { items, last: rows.at(-1)?.number }
}

const callbacks = statement<Page>()((db, p) =>
  db
    .selectFrom('runs')
    .select(['number', 'id', 'status', 'callback_sent_at as sent', 'callback_error as error'])
    .select(
      sql<number>`(select count(*) from webhook_deliveries d where d.webhook_id = '' and d.event_id = runs.id)`.as(
        'deliveries',
      ),
    )
    .where('callback_url', 'is not', null)
    .where('number', '>', p('after'))
    .orderBy('number')
    .limit(p('limit')),
)

const deliveries = statement<Page>()((db, p) =>
  db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .select(sql<RunStatus | null>`(select status from runs where runs.id = webhook_deliveries.run_id)`.as('run'))
    .where('number', '>', p('after'))
    .orderBy('number')
    .limit(p('limit')),
)
