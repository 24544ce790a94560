import { sql } from 'kysely'
import type { AgentId, OrganizationId, RunId } from '../../core/id.ts'
import type { ErasureStore } from '../../ports/erasure-store.ts'
import type { Database } from '../database/database.ts'
import {
  type Executor,
  listParameters,
  listValues,
  type Slots,
  type Statement,
  statement,
} from '../database/statement.ts'
import { insertEntry } from './audit.ts'

/** Names in one query. */
const IDS = 100
/** Pages of the index that one part of a merge writes: some ten milliseconds. */
const MERGED_PAGES = 200

export function erasureStore({ read, write, dialect }: Database, emptyLog?: () => void): ErasureStore {
  return {
    pending: (limit) =>
      read(async (db) =>
        (await db.all(pending, { limit })).map(({ number, agent_id: agentId }) => ({
          number: Number(number),
          agentId,
        })),
      ),

    finished: async (numbers) => {
      for (const number of numbers)
        await write({ key: 'erasures', work: (db) => db.run(finish, { number }), findCommitted: () => undefined })
    },

    unknownAgents: (ids) => unknownOf(ids, (db, some) => db.all(knownAgents, listValues('id', some, IDS))),
    unknownRuns: (ids) => unknownOf(ids, (db, some) => db.all(knownRuns, listValues('id', some, IDS))),

    runsOf: (agent, after, limit) =>
      read(async (db) =>
        (await db.all(runsOf, { agent, after, limit })).map(({ number, id }) => ({ number: Number(number), id })),
      ),

    mergeWords: async (part) => {
      if (dialect.name !== 'sqlite') return false
      const pages = part === 'first' ? -MERGED_PAGES : MERGED_PAGES
      const changes = await write({
        key: 'words',
        async work(db) {
          const before = Number((await db.get(changeCount, {}))?.changes ?? 0)
          await db.run(merge, { pages })
          return Number((await db.get(changeCount, {}))?.changes ?? 0) - before
        },
        findCommitted: () => undefined,
      })
      // Fewer than two: the merge found nothing to do.
      return changes >= 2
    },

    emptyLog: async () => emptyLog?.(),

    eraseOrganization: (id, audit) =>
      write({
        key: id,
        async work(db) {
          const erased: Record<string, number> = {}
          await db.run(removeImportedObjects, { organization: id })
          for (const [table, removal] of Object.entries(REMOVALS))
            erased[table] = await db.run(removal, { organization: id })
          await db.run(removeOrganization, { organization: id })
          await insertEntry(db, audit)
          return erased
        },
        announce: true,
      }),

    agentsOf: (organization, limit) =>
      read(async (db) => (await db.all(agentsOf, { organization, limit })).map((row) => row.id)),
  }

  async function unknownOf<Id extends string>(
    ids: readonly Id[],
    find: (db: Executor, some: readonly Id[]) => unknown,
  ): Promise<Id[]> {
    const unknown: Id[] = []
    for (let from = 0; from < ids.length; from += IDS) {
      const some = ids.slice(from, from + IDS)
      const rows = await read((db) => find(db, some) as Promise<{ id: string }[]>)
      const known = new Set(rows.map(({ id }) => id))
      unknown.push(...some.filter((id) => !known.has(id)))
    }
    return unknown
  }
}

const pending = statement<{ limit: number }>()((db, p) =>
  db.selectFrom('erasures').select(['number', 'agent_id']).orderBy('number').limit(p('limit')),
)

const finish = statement<{ number: number }>()((db, p) => db.deleteFrom('erasures').where('number', '=', p('number')))

const knownAgents = statement<Slots<'id', AgentId>>()((db, p) =>
  db
    .selectFrom('agents')
    .select('id')
    .where('id', 'in', listParameters(p, 'id', IDS)),
)

const knownRuns = statement<Slots<'id', RunId>>()((db, p) =>
  db
    .selectFrom('runs')
    .select('id')
    .where('id', 'in', listParameters(p, 'id', IDS)),
)

const runsOf = statement<{ agent: AgentId; after: number; limit: number }>()((db, p) =>
  db
    .selectFrom('runs')
    .select(['number', 'id'])
    .where('agent_id', '=', p('agent'))
    .where('number', '>', p('after'))
    .orderBy('number')
    .limit(p('limit')),
)

const agentsOf = statement<{ organization: OrganizationId; limit: number }>()((db, p) =>
  db.selectFrom('agents').select('id').where('organization_id', '=', p('organization')).limit(p('limit')),
)

const changeCount = statement<Record<never, never>>()((db) =>
  db.selectNoFrom(sql<number>`total_changes()`.as('changes')),
)

/** An insert with these columns is a command to the index; Kysely knows no such table. */
const merge = statement<{ pages: number }>()((db, p) => ({
  compile: () => sql`insert into message_words (message_words, rank) values ('merge', ${p('pages')})`.compile(db),
}))

type OfOrganization = { organization: OrganizationId }

const rowsIn = (table: OwnedTable): Statement<OfOrganization, unknown> =>
  statement<OfOrganization>()((db, p) =>
    db.deleteFrom(table as 'agents').where('organization_id', '=', p('organization')),
  )

/** Every table with an organization. Referencing rows come first; deletions are announced in `changes`. */
export const OWNED_TABLES = [
  // First: they fire runs.
  'schedules',
  'schedule_instants',
  'hook_deliveries',
  'hooks',
  'events',
  'steps',
  'messages',
  'steered_requests',
  'steers',
  'asked_calls',
  'run_otids',
  'run_requests',
  'openai_requests',
  'openai_conversations',
  'openai_deleted_responses',
  'runs',
  'passage_vectors',
  'passages',
  'message_index',
  'message_vector_models',
  'gateway_accounts',
  'gateway_inbound',
  'gateway_outbound',
  'gateway_sessions',
  'gateway_deliveries',
  'gateway_pairings',
  'gateway_tokens',
  'gateway_files',
  'gateway_identities',
  'webhook_secrets',
  'webhook_deliveries',
  'webhooks',
  'imports',
  'agent_tags',
  'conversations',
  'agents',
  'block_versions',
  'blocks',
  'tools',
  'mcp_servers',
  'credentials',
  'cooldowns',
  'model_notes',
  'api_keys',
  'users',
  'audit_log',
  'audit_heads',
  'spending',
  'organization_policies',
  'changes',
  // Last: deletions of the others are counted here.
  'stored_bytes',
] as const

type OwnedTable = (typeof OWNED_TABLES)[number]

const REMOVALS = Object.fromEntries(OWNED_TABLES.map((table) => [table, rowsIn(table)]))

const removeImportedObjects = statement<OfOrganization>()((db, p) =>
  db
    .deleteFrom('import_objects')
    .where(
      'import_number',
      'in',
      db.selectFrom('imports').select('number').where('organization_id', '=', p('organization')),
    ),
)

const removeOrganization = statement<OfOrganization>()((db, p) =>
  db.deleteFrom('organizations').where('id', '=', p('organization')),
)
