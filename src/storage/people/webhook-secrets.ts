import type { OrganizationId } from '../../core/id.ts'
import type { WebhookSecret, WebhookSecretId } from '../../core/webhook-secret.ts'
import type { WebhookSecretStore } from '../../ports/people-store.ts'
import type { Database } from '../database/database.ts'
import { insertInto } from '../database/row-statements.ts'
import { sealedSecrets } from '../database/sealed-secrets.ts'
import { type Executor, statement } from '../database/statement.ts'
import { WEBHOOK_SECRET } from '../rows/people-rows.ts'
import { hasEntry, insertEntry } from './audit.ts'

export function webhookSecretStore(database: Database): WebhookSecretStore {
  const { read, write } = database
  return {
    ...sealedSecrets<WebhookSecretId>('webhook_secrets', database),

    get: (organization) => read((db) => find(db, organization)),

    replace: (secret, audit) =>
      write({
        key: secret.organizationId,
        async work(db) {
          await db.run(remove, { organization: secret.organizationId })
          await db.run(insert, WEBHOOK_SECRET.rowOf(secret))
          await insertEntry(db, audit)
          return true
        },
        findCommitted: async (db) => ((await hasEntry(db, audit.id)) ? true : undefined),
      }).then(() => undefined),
  }
}

async function find(db: Executor, organization: OrganizationId): Promise<WebhookSecret | undefined> {
  const row = await db.get(ofOrganization, { organization })
  return row && WEBHOOK_SECRET.objectOf(row)
}

const insert = insertInto('webhook_secrets', WEBHOOK_SECRET.columns)

const remove = statement<{ organization: OrganizationId }>()((db, p) =>
  db.deleteFrom('webhook_secrets').where('organization_id', '=', p('organization')),
)

const ofOrganization = statement<{ organization: OrganizationId }>()((db, p) =>
  db.selectFrom('webhook_secrets').selectAll().where('organization_id', '=', p('organization')),
)
