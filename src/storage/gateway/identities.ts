import type { Identity, PersonId } from '../../core/gateway/identity.ts'
import type { OrganizationId } from '../../core/id.ts'
import type { GatewayChange, GatewayStore } from '../../ports/gateway-store.ts'
import type { Database } from '../database/database.ts'
import { parametersOf } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { GATEWAY_IDENTITY } from '../rows/gateway-rows.ts'
import type { NewRow } from '../rows/tables.ts'
import { lockKey } from './accounts.ts'

type IdentityStore = Pick<
  GatewayStore,
  'identity' | 'identities' | 'identitiesOf' | 'identityByCode' | 'removeIdentity'
>

export function identityStore({ read, write }: Database): IdentityStore {
  return {
    identity: ({ organizationId, account }, sender) =>
      read(async (db) => {
        const row = await db.get(bySender, { organization: organizationId, account, sender })
        return row && GATEWAY_IDENTITY.objectOf(row)
      }),

    identities: (organization) =>
      read(async (db) => (await db.all(all, { organization })).map(GATEWAY_IDENTITY.objectOf)),

    identitiesOf: (organization, person) =>
      read(async (db) => (await db.all(ofPerson, { organization, person })).map(GATEWAY_IDENTITY.objectOf)),

    identityByCode: (organization, code) =>
      read(async (db) => {
        const row = await db.get(byCode, { organization, code })
        return row && GATEWAY_IDENTITY.objectOf(row)
      }),

    removeIdentity: ({ organizationId, account }, sender) =>
      write({
        key: lockKey(account),
        work: async (db) => (await db.run(remove, { organization: organizationId, account, sender })) > 0,
        findCommitted: () => undefined,
      }),
  }
}

export async function saveIdentity(db: Executor, identity: Identity): Promise<void> {
  await db.run(put, GATEWAY_IDENTITY.rowOf(identity))
}

export async function linkIdentity(
  db: Executor,
  { identity, code, former }: Extract<GatewayChange, { type: 'link-identity' }>,
): Promise<void> {
  const { organizationId: organization, personId: person } = identity
  await saveIdentity(db, identity)
  if (former !== undefined) await db.run(joinPerson, { organization, former, person })
  await db.run(endCode, { organization, code })
}

type Key = { organization: OrganizationId; account: string; sender: string }

const bySender = statement<Key>()((db, p) =>
  db
    .selectFrom('gateway_identities')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('sender_id', '=', p('sender')),
)

const all = statement<{ organization: OrganizationId }>()((db, p) =>
  db
    .selectFrom('gateway_identities')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .orderBy('person_id')
    .orderBy('linked_at'),
)

const ofPerson = statement<{ organization: OrganizationId; person: PersonId }>()((db, p) =>
  db
    .selectFrom('gateway_identities')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where('person_id', '=', p('person'))
    .orderBy('linked_at'),
)

const byCode = statement<{ organization: OrganizationId; code: string }>()((db, p) =>
  db
    .selectFrom('gateway_identities')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where('code', '=', p('code')),
)

const put = statement<NewRow<'gateway_identities'>>()((db, p) =>
  db
    .insertInto('gateway_identities')
    .values(parametersOf(p, GATEWAY_IDENTITY.columns))
    .onConflict((conflict) =>
      conflict.columns(['organization_id', 'account', 'sender_id']).doUpdateSet({
        chat_id: p('chat_id'),
        person_id: p('person_id'),
        name: p('name'),
        linked_at: p('linked_at'),
        code: p('code'),
        code_expires_at: p('code_expires_at'),
      }),
    ),
)

const joinPerson = statement<{ organization: OrganizationId; former: PersonId; person: PersonId }>()((db, p) =>
  db
    .updateTable('gateway_identities')
    .set({ person_id: p('person') })
    .where('organization_id', '=', p('organization'))
    .where('person_id', '=', p('former')),
)

const endCode = statement<{ organization: OrganizationId; code: string }>()((db, p) =>
  db
    .updateTable('gateway_identities')
    .set({ code: null, code_expires_at: null })
    .where('organization_id', '=', p('organization'))
    .where('code', '=', p('code')),
)

const remove = statement<Key>()((db, p) =>
  db
    .deleteFrom('gateway_identities')
    .where('organization_id', '=', p('organization'))
    .where('account', '=', p('account'))
    .where('sender_id', '=', p('sender')),
)
