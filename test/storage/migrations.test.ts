import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import pg from 'pg'
import { realClock as clock } from '../../src/config/real-clock.ts'
import { StorageError } from '../../src/ports/storage-error.ts'
import { POSTGRES, SQLITE } from '../../src/storage/database/dialect.ts'
import { MIGRATIONS } from '../../src/storage/migrations/all.ts'
import type { Migration } from '../../src/storage/migrations/migration.ts'
import { openPostgresStore } from '../../src/storage/postgres.ts'
import { AGENT_COLUMNS } from '../../src/storage/rows/agent-row.ts'
import { BLOCK } from '../../src/storage/rows/block-row.ts'
import { CONVERSATION_COLUMNS } from '../../src/storage/rows/conversation-row.ts'
import { COOLDOWN, CREDENTIAL_COLUMNS } from '../../src/storage/rows/credential-row.ts'
import {
  GATEWAY_ACCOUNT,
  GATEWAY_DELIVERY,
  GATEWAY_FILE,
  GATEWAY_IDENTITY,
  GATEWAY_INBOUND,
  GATEWAY_OUTBOUND,
  GATEWAY_PAIRING,
  GATEWAY_SESSION,
  GATEWAY_TOKEN,
} from '../../src/storage/rows/gateway-rows.ts'
import { MCP_SERVER } from '../../src/storage/rows/mcp-server-row.ts'
import { MODEL_NOTE_COLUMNS } from '../../src/storage/rows/model-note-row.ts'
import { PASSAGE } from '../../src/storage/rows/passage-row.ts'
import { API_KEY, AUDIT_ENTRY, ORGANIZATION, USER } from '../../src/storage/rows/people-rows.ts'
import { RUN_COLUMNS } from '../../src/storage/rows/run-row.ts'
import { STEP_COLUMNS } from '../../src/storage/rows/step-row.ts'
import { TOOL_COLUMNS } from '../../src/storage/rows/tool-row.ts'
import { openSqliteStore } from '../../src/storage/sqlite.ts'
import { startPostgres } from '../harness/postgres.ts'
import { columnsOf } from './columns.ts'

function digestOf({ up }: Migration): string {
  const text = JSON.stringify([up(SQLITE), up(POSTGRES)])
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

for (const [track, migrations] of Object.entries(MIGRATIONS)) {
  for (const migration of migrations)
    test(`migration ${migration.number} of ${track} is unchanged since its release`, () => {
      const advice = 'a released migration never changes: add another one. A new one has the digest shown here'
      assert.equal(digestOf(migration), migration.digest, advice)
    })

  test(`the migrations of ${track} are numbered from 1 without a gap`, () => {
    assert.deepEqual(
      migrations.map(({ number }) => number),
      migrations.map((_, index) => index + 1),
    )
  })
}

/** Mapped columns of each table; `besides` are columns that only queries use. */
const MAPPED: Record<string, { mapped: readonly string[]; besides?: string[] }> = {
  agents: { mapped: AGENT_COLUMNS },
  conversations: { mapped: CONVERSATION_COLUMNS, besides: ['system_prompt', 'deleted_at'] },
  runs: {
    mapped: RUN_COLUMNS,
    besides: ['callback_reach', 'queue_rank', 'idempotency_key', 'request_digest'],
  },
  steps: { mapped: STEP_COLUMNS, besides: ['organization_id', 'run_number'] },
  blocks: { mapped: BLOCK.columns },
  passages: { mapped: PASSAGE.columns },
  tools: { mapped: TOOL_COLUMNS },
  mcp_servers: { mapped: MCP_SERVER.columns },
  credentials: { mapped: CREDENTIAL_COLUMNS, besides: ['refreshing_until'] },
  cooldowns: { mapped: COOLDOWN.columns, besides: ['organization_id'] },
  model_notes: { mapped: MODEL_NOTE_COLUMNS, besides: ['organization_id'] },
  organizations: { mapped: ORGANIZATION.columns },
  users: { mapped: USER.columns },
  api_keys: { mapped: API_KEY.columns, besides: ['digest'] },
  audit_log: { mapped: AUDIT_ENTRY.columns },
  gateway_accounts: { mapped: GATEWAY_ACCOUNT.columns },
  gateway_inbound: { mapped: GATEWAY_INBOUND.columns },
  gateway_outbound: { mapped: GATEWAY_OUTBOUND.columns },
  gateway_sessions: { mapped: GATEWAY_SESSION.columns },
  gateway_deliveries: { mapped: GATEWAY_DELIVERY.columns },
  gateway_identities: { mapped: GATEWAY_IDENTITY.columns },
  gateway_pairings: { mapped: GATEWAY_PAIRING.columns },
  gateway_tokens: { mapped: GATEWAY_TOKEN.columns },
  gateway_files: { mapped: GATEWAY_FILE.columns, besides: ['content'] },
}

for (const [table, { mapped, besides = [] }] of Object.entries(MAPPED))
  test(`the columns of ${table} are the mapped ones`, () => {
    const columns = columnsOf(table).map(({ name }) => name)
    const known = new Set([...mapped, ...besides, ...(columns.includes('number') ? ['number'] : [])])
    assert.deepEqual(columns.sort(), [...known].sort())
  })

/** State left by checkouts before the first release: eleven migrations without a digest. */
const OLD_MIGRATIONS = [
  `create table migrations (
    track text not null, number integer not null, name text not null, applied_at bigint not null,
    primary key (track, number)
  )`,
  ...Array.from({ length: 11 }, (_, index) => `insert into migrations values ('store', ${index + 1}, 'old', 0)`),
  'create table agents (id text not null)',
]

const isRefused = (error: unknown): boolean => {
  assert.ok(error instanceof StorageError)
  assert.equal(error.fault, 'unreleased-version')
  assert.match(error.message, /unreleased checkout of Holdfast.*Nothing was changed.*start with an empty home/s)
  return true
}

test('a home made by an unreleased checkout is refused with a clear message and left unchanged', async (context) => {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-migrations-'))
  context.after(() => rmSync(home, { recursive: true, force: true }))
  const file = join(home, 'holdfast.db')
  const made = new DatabaseSync(file)
  made.exec('pragma journal_mode = wal')
  for (const change of OLD_MIGRATIONS) made.exec(change)
  made.close()
  const before = readFileSync(file)

  for (const role of ['owner', 'guest'] as const)
    await assert.rejects(openSqliteStore({ home, clock, durability: 'strict', role }), isRefused)
  assert.ok(readFileSync(file).equals(before))
})

test('a home with other migrations than this version is refused', async (context) => {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-migrations-'))
  context.after(() => rmSync(home, { recursive: true, force: true }))
  const open = () => openSqliteStore({ home, clock, durability: 'strict', role: 'owner' })
  const { store, chunks } = await open()
  await chunks.close()
  await store.close()
  const database = new DatabaseSync(join(home, 'holdfast.db'))
  database.exec(`update migrations set digest = 'another'`)
  database.close()
  await assert.rejects(open(), isRefused)
})

test('a PostgreSQL database made by an unreleased checkout is refused and left unchanged', async (context) => {
  const server = await startPostgres()
  if ('skip' in server) return context.skip(server.skip)
  context.after(server.stop)
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  for (const change of OLD_MIGRATIONS) await client.query(change)
  const tables = `select table_name, column_name from information_schema.columns where table_schema = 'public' order by 1, 2`
  const { rows: before } = await client.query(tables)
  await assert.rejects(openPostgresStore({ url: server.url, clock, durability: 'strict' }), isRefused)
  const { rows: after } = await client.query(tables)
  await client.end()
  assert.deepEqual(after, before)
})
