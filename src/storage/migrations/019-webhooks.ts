import type { Dialect } from '../database/dialect.ts'
import type { Migration } from './migration.ts'

type Facts = Record<string, string>

/** A change that webhooks are told of. Texts are SQL; `new` and `old` are the row after and before. */
type Caused = {
  name: string
  table: string
  on: string
  when: string
  event: string
  eventId: string
  at: string
  agent?: string
  run?: string
  facts?: Facts
}

const OVER = `in ('completed', 'failed', 'cancelled')`

const CAUSED: readonly Caused[] = [
  {
    name: 'run_ended',
    table: 'runs',
    on: 'update of status, waiting',
    // A run that an approval continued is completed as well; the run that continues it is told of.
    when: `new.status ${OVER} and new.waiting = 0 and coalesce(new.stop_reason, '') <> 'requires_approval' and (old.status <> new.status or old.waiting <> new.waiting)`,
    event: 'run.ended',
    eventId: `new.id || '_ended'`,
    at: 'coalesce(new.completed_at, new.created_at)',
    agent: 'new.agent_id',
    run: 'new.id',
  },
  {
    name: 'approval_waiting',
    table: 'runs',
    on: 'update of status, waiting',
    when: 'new.waiting = 1 and old.waiting = 0',
    event: 'approval.waiting',
    eventId: `new.id || '_approval'`,
    at: 'coalesce(new.completed_at, new.created_at)',
    agent: 'new.agent_id',
    run: 'new.id',
  },
  {
    name: 'schedule_missed',
    table: 'schedule_instants',
    on: 'insert',
    when: `new.outcome = 'missed'`,
    event: 'schedule.missed',
    eventId: `new.schedule_id || '_' || new.instant`,
    at: 'new.settled_at',
    agent: '(select agent_id from schedules where id = new.schedule_id)',
    facts: {
      schedule_id: 'new.schedule_id',
      instant_at: 'new.instant',
      last_instant_at: 'new.last_instant',
      count: 'new.count',
      reason: 'new.reason',
    },
  },
  {
    name: 'outbox_unknown',
    table: 'gateway_outbound',
    on: 'update of state',
    when: `new.state = 'unknown' and old.state <> 'unknown'`,
    event: 'outbox.unknown',
    eventId: `'outbox-' || new.number || '_' || new.updated_at`,
    at: 'new.updated_at',
    agent: '(select agent_id from runs where id = new.run_id)',
    facts: {
      account: 'new.account',
      chat_id: 'new.chat_id',
      message_key: 'new.message_key',
      run_id: 'new.run_id',
      error: 'new.error',
    },
  },
  ...['insert', 'update of until'].map((on) => ({
    name: on === 'insert' ? 'provider_resting' : 'provider_resting_longer',
    table: 'cooldowns',
    on,
    when: on === 'insert' ? '1 = 1' : 'new.until > old.until',
    event: 'provider.resting',
    eventId: `'rest-' || new.created_at || '-' || new.until`,
    at: 'new.created_at',
    facts: {
      provider: 'new.provider',
      scope: 'new.scope',
      key: 'new.key',
      reason: 'new.reason',
      until_at: 'new.until',
      run_id: 'new.run_id',
    },
  })),
  {
    name: 'webhook_disabled',
    table: 'webhooks',
    on: 'update of state',
    when: `new.state = 'disabled' and old.state <> 'disabled'`,
    event: 'webhook.disabled',
    eventId: `new.id || '_' || new.rest_until`,
    at: 'new.rest_until',
    facts: { webhook_id: 'new.id', reason: 'new.state_reason' },
  },
]

const COLUMNS = 'organization_id, webhook_id, event_id, type, agent_id, run_id, facts, created_at, due_at, tries, error'

const json = (facts: Facts, { name }: Dialect): string => {
  const pairs = Object.entries(facts).flatMap(([key, value]) => [`'${key}'`, value])
  return name === 'sqlite' ? `json_object(${pairs.join(', ')})` : `json_build_object(${pairs.join(', ')})::text`
}

/** A row for each webhook of the organization that is told of this. Events of one that is not active are kept as failed. */
const tell = ({ event, eventId, at, agent = 'null', run = 'null', facts = {} }: Caused, dialect: Dialect): string =>
  `insert into webhook_deliveries (${COLUMNS})
  select w.organization_id, w.id, ${eventId}, '${event}', ${agent}, ${run}, ${json(facts, dialect)}, ${at},
    case when w.state = 'active' then ${at} end, 0,
    case when w.state <> 'active' then 'The webhook was ' || w.state || '. Redeliver it once the webhook is active.' end
  from webhooks w
  where w.organization_id = new.organization_id and w.id <> ${event === 'webhook.disabled' ? 'new.id' : `''`}
    and w.events like '% ${event} %'
  on conflict do nothing;`

/** The callback of a run: the first time that it is over or waits. */
const callBack = `insert into webhook_deliveries (${COLUMNS})
  values (new.organization_id, '', new.id, 'callback', new.agent_id, new.id, '{}',
    coalesce(new.completed_at, new.created_at), coalesce(new.completed_at, new.created_at), 0, null);`

type Trigger = { name: string; table: string; on: string; when: string; work: string }

const triggerOf = ({ name, table, on, when, work }: Trigger, dialect: Dialect): string[] =>
  dialect.name === 'sqlite'
    ? [`create trigger ${name} after ${on} on ${table} when ${when} begin ${work} end`]
    : [
        `create function ${name}() returns trigger language plpgsql as $$ begin ${work} return null; end $$`,
        `create trigger ${name} after ${on} on ${table} for each row when (${when}) execute function ${name}()`,
      ]

/** Triggers write the deliveries in the transaction of what they tell of: no statement can forget one. */
export const webhooks: Migration = {
  number: 19,
  name: 'webhooks',
  digest: '69186501ffe84f5e',
  up: (dialect) => [
    `create table webhooks (
      number ${dialect.identity},
      id text not null unique,
      organization_id text not null,
      url text not null,
      trust text not null,
      events text not null,
      sealed_secrets text not null,
      state text not null,
      state_reason text,
      failing_since bigint,
      rest_until bigint,
      created_at bigint not null,
      body text not null
    )`,
    'create index webhooks_by_organization on webhooks (organization_id, number)',
    `create table webhook_deliveries (
      number ${dialect.identity},
      organization_id text not null,
      webhook_id text not null,
      event_id text not null,
      type text not null,
      agent_id text,
      run_id text,
      facts text not null,
      created_at bigint not null,
      due_at bigint,
      tries integer not null,
      sent_at bigint,
      status_code integer,
      error text,
      delivered_at bigint
    )`,
    // The key is the promise that an event is one delivery for each receiver.
    'create unique index webhook_deliveries_by_event on webhook_deliveries (webhook_id, event_id)',
    'create index webhook_deliveries_due on webhook_deliveries (due_at) where due_at is not null',
    'create index webhook_deliveries_by_organization on webhook_deliveries (organization_id, number)',
    'create index webhook_deliveries_by_agent on webhook_deliveries (agent_id) where agent_id is not null',

    // Callbacks that are owed when this runs.
    `insert into webhook_deliveries (${COLUMNS}, sent_at, status_code)
      select organization_id, '', id, 'callback', agent_id, id, '{}', coalesce(completed_at, created_at),
        callback_due_at, callback_tries, callback_error, callback_sent_at, callback_status_code
      from runs where callback_due_at is not null and status ${OVER}`,
    'drop index runs_callbacks',
    'alter table runs drop column callback_due_at',
    'alter table runs drop column callback_tries',
    ...triggerOf(
      {
        name: 'call_back',
        table: 'runs',
        on: 'update of status',
        when: `new.callback_url is not null and new.status ${OVER} and old.status not ${OVER}`,
        work: callBack,
      },
      dialect,
    ),
    ...CAUSED.flatMap((caused) =>
      triggerOf({ ...caused, name: `tell_${caused.name}`, work: tell(caused, dialect) }, dialect),
    ),
  ],
}
