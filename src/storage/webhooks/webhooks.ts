import type { OrganizationId, WebhookId } from '../../core/id.ts'
import type { WebhookStore } from '../../ports/webhook-store.ts'
import type { Database } from '../database/database.ts'
import { insertInto, rowById, updateById } from '../database/row-statements.ts'
import { sealedSecrets } from '../database/sealed-secrets.ts'
import { statement } from '../database/statement.ts'
import { WEBHOOK_COLUMNS, webhookOf, webhookRowOf } from '../rows/webhook-row.ts'
import { deliveryStore } from './deliveries.ts'

export function webhookStore(database: Database): WebhookStore {
  const { read, write } = database
  return {
    ...sealedSecrets<WebhookId>('webhooks', database),
    ...deliveryStore(database),

    create: (webhook, limit) =>
      write({
        key: webhook.id,
        async work(db) {
          const { organizationId: organization } = webhook
          const known = await db.get(counted, { organization })
          if (Number(known?.count ?? 0) >= limit) return 'over-limit' as const
          await db.run(insert, webhookRowOf(webhook))
          return 'created' as const
        },
        findCommitted: async (db) =>
          (await db.get(byId.plain, { organization: webhook.organizationId, id: webhook.id }))
            ? ('created' as const)
            : undefined,
      }),

    get: (organization, id) =>
      read(async (db) => {
        const row = await db.get(byId.plain, { organization, id })
        return row && webhookOf(row)
      }),

    list: (organization) => read(async (db) => (await db.all(ofOrganization, { organization })).map(webhookOf)),

    edit: ({ organizationId: organization, id }, edit) =>
      write({
        key: id,
        async work(db) {
          const row = await db.get(byId.locked, { organization, id })
          if (!row) return undefined
          const edited = edit(webhookOf(row))
          await db.run(update, webhookRowOf(edited))
          return edited
        },
        // Repeating it is harmless.
        findCommitted: () => undefined,
      }),

    delete: ({ organizationId: organization, id }) =>
      write({
        key: id,
        async work(db) {
          // Locked first, like a sender that stores a result.
          if (!(await db.get(byId.locked, { organization, id }))) return false
          await db.run(removeDeliveries, { id })
          await db.run(remove, { id })
          return true
        },
      }),
  }
}

const byId = rowById('webhooks')
const insert = insertInto('webhooks', WEBHOOK_COLUMNS)
const update = updateById('webhooks', WEBHOOK_COLUMNS)

const counted = statement<{ organization: OrganizationId }>()((db, p) =>
  db
    .selectFrom('webhooks')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('organization_id', '=', p('organization')),
)

const ofOrganization = statement<{ organization: OrganizationId }>()((db, p) =>
  db.selectFrom('webhooks').selectAll().where('organization_id', '=', p('organization')).orderBy('number'),
)

const removeDeliveries = statement<{ id: WebhookId }>()((db, p) =>
  db.deleteFrom('webhook_deliveries').where('webhook_id', '=', p('id')),
)

const remove = statement<{ id: WebhookId }>()((db, p) => db.deleteFrom('webhooks').where('id', '=', p('id')))
