import { announcing } from './005-changes.ts'
import type { Migration } from './migration.ts'

const ACCOUNTS = { table: 'gateway_accounts', kind: 'gateway_account', id: 'name', changed: ['state', 'detail'] }
const PAIRINGS = { table: 'gateway_pairings', kind: 'pairing', id: 'sender_id', changed: ['state', 'code'] }

/** The feed tells of accounts on chat platforms and of people who ask to talk to them. */
export const gatewayChanges: Migration = {
  number: 14,
  name: 'gateway-changes',
  digest: '22ff872b0e9978dd',
  up: (dialect) =>
    [ACCOUNTS, PAIRINGS].flatMap((watched) => [
      ...announcing(watched, 'created', dialect),
      ...announcing(watched, 'changed', dialect),
      ...announcing(watched, 'deleted', dialect),
    ]),
}
