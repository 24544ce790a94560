import type { AgentId } from '../../core/id.ts'
import type { Database } from './database.ts'
import { statement } from './statement.ts'

/** A row with secrets sealed by the key of the home. */
type SealedRecord<Id extends string> = { number: number; id: Id; sealed: { secret: string } }

/** For key rotation, over the rows of all organizations. */
type SealedSecrets<Id extends string> = {
  sealedPage(after: number, limit: number): Promise<SealedRecord<Id>[]>
  /** False: the secrets changed meanwhile. */
  reseal(id: Id, from: { secret: string }, to: { secret: string }): Promise<boolean>
}

type Table = 'agents' | 'mcp_servers' | 'webhook_secrets' | 'webhooks' | 'hooks'

const STATEMENTS = {
  agents: statementsFor('agents'),
  mcp_servers: statementsFor('mcp_servers'),
  webhook_secrets: statementsFor('webhook_secrets'),
  webhooks: statementsFor('webhooks'),
  hooks: statementsFor('hooks'),
}

export function sealedSecrets<Id extends string>(table: Table, { read, write }: Database): SealedSecrets<Id> {
  const { page, one, replace } = STATEMENTS[table]
  return {
    sealedPage: (after, limit) =>
      read(async (db) =>
        (await db.all(page, { after, limit })).map(({ number, id, sealed_secrets }) => ({
          number,
          id: id as string as Id,
          sealed: { secret: sealed_secrets! },
        })),
      ),
    reseal: (id, from, to) =>
      write({
        key: id,
        work: async (db) => (await db.run(replace, { id, from: from.secret, to: to.secret })) > 0,
        findCommitted: async (db) => ((await db.get(one, { id }))?.sealed_secrets === to.secret ? true : undefined),
      }),
  }
}

function statementsFor(named: Table) {
  // All of these tables have these columns, which a union type cannot express.
  const table = named as 'agents'
  return {
    page: statement<{ after: number; limit: number }>()((db, p) =>
      db
        .selectFrom(table)
        .select(['number', 'id', 'sealed_secrets'])
        .where('number', '>', p('after'))
        .where('sealed_secrets', 'is not', null)
        .orderBy('number')
        .limit(p('limit')),
    ),
    one: statement<{ id: string }>()((db, p) =>
      db
        .selectFrom(table)
        .select('sealed_secrets')
        .where('id', '=', p('id') as AgentId),
    ),
    replace: statement<{ id: string; from: string; to: string }>()((db, p) =>
      db
        .updateTable(table)
        .set({ sealed_secrets: p('to') })
        .where('id', '=', p('id') as AgentId)
        .where('sealed_secrets', '=', p('from')),
    ),
  }
}
