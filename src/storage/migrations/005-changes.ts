import type { Dialect } from '../database/dialect.ts'
import type { Migration } from './migration.ts'

type Verb = 'created' | 'changed' | 'deleted'

/** A table whose rows are announced. `changed`: the columns whose new values matter. */
type Watched = { table: string; kind: string; id?: string; agent?: string; conversation?: string; changed: string[] }

const WATCHED: readonly Watched[] = [
  { table: 'agents', kind: 'agent', agent: 'id', changed: ['updated_at'] },
  {
    table: 'conversations',
    kind: 'conversation',
    agent: 'agent_id',
    conversation: 'id',
    changed: ['updated_at', 'summary', 'hidden', 'archived_at', 'deleted_at'],
  },
  { table: 'runs', kind: 'run', agent: 'agent_id', conversation: 'conversation_id', changed: ['status', 'waiting'] },
  { table: 'blocks', kind: 'block', changed: ['version', 'updated_at'] },
  { table: 'tools', kind: 'tool', changed: ['updated_at', 'body'] },
  { table: 'mcp_servers', kind: 'mcp_server', changed: ['updated_at', 'contact'] },
  { table: 'api_keys', kind: 'key', changed: ['revoked_at'] },
  { table: 'users', kind: 'user', changed: ['name'] },
  { table: 'credentials', kind: 'credential', changed: ['generation', 'dead_reason', 'priority'] },
  { table: 'cooldowns', kind: 'cooldown', id: 'key', changed: ['until'] },
]

const EVENTS: Record<Verb, 'insert' | 'update' | 'delete'> = { created: 'insert', changed: 'update', deleted: 'delete' }

/** A trigger announces each change in its own transaction: a statement that changes a row cannot forget to. */
export const changes: Migration = {
  number: 5,
  name: 'changes',
  digest: '6e121fc92aa7fe8c',
  up: (dialect) => [
    // Numbers are assigned before the commit, so on PostgreSQL a lower one may become visible after a higher one.
    // The transaction is the order of the feed.
    `create table changes (
      number ${dialect.identity},
      txid bigint not null default ${dialect.name === 'postgres' ? '(pg_current_xact_id()::text::bigint)' : '0'},
      organization_id text not null,
      kind text not null,
      subject_id text not null,
      agent_id text,
      conversation_id text,
      verb text not null
    )`,
    ...(dialect.name === 'postgres' ? ['create index changes_in_order on changes (txid, number)'] : []),
    `create table change_marks (
      number bigint not null primary key,
      at bigint not null,
      pruned smallint not null
    ) ${dialect.clustered}`,
    ...WATCHED.flatMap((watched) => [
      ...announcing(watched, 'created', dialect),
      ...announcing(watched, 'changed', dialect),
      ...(watched.table === 'runs' ? [] : announcing(watched, 'deleted', dialect)),
    ]),
  ],
}

export function announcing(
  { table, kind, id = 'id', agent, conversation, changed }: Watched,
  verb: Verb,
  dialect: Dialect,
) {
  const row = verb === 'deleted' ? 'old' : 'new'
  const event = verb === 'changed' ? `update of ${changed.join(', ')}` : EVENTS[verb]
  const column = (name: string | undefined) => (name === undefined ? 'null' : `${row}.${name}`)
  const values = `${row}.organization_id, '${kind}', ${row}.${id}, ${column(agent)}, ${column(conversation)}, '${verb}'`
  const insert = `insert into changes (organization_id, kind, subject_id, agent_id, conversation_id, verb) values (${values});`
  const name = `announce_${table}_${verb}`
  if (dialect.name === 'sqlite') {
    const differs = changed.map((one) => `old.${one} is not new.${one}`).join(' or ')
    const when = verb === 'changed' ? ` when ${differs}` : ''
    return [`create trigger ${name} after ${event} on ${table}${when} begin ${insert} end`]
  }
  const differs = changed.map((one) => `old.${one} is distinct from new.${one}`).join(' or ')
  const when = verb === 'changed' ? ` when (${differs})` : ''
  return [
    `create function ${name}() returns trigger language plpgsql as $$ begin ${insert} return null; end $$`,
    `create trigger ${name} after ${event} on ${table} for each row${when} execute function ${name}()`,
  ]
}
