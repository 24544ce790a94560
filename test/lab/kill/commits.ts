import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'

/** A row of the event log with the commit that wrote it, in log order. */
export type CommittedRow = { run: string; seq: number; type: string; commit: string }

const ROWS = `select runs.id as run, events.seq as seq, events.type as type, events.commit_id as "commit"
  from events join runs on runs.number = events.run_number order by events.run_number, events.seq`

export async function readCommits(location: { home: string; databaseUrl?: string }): Promise<CommittedRow[]> {
  if (location.databaseUrl) return query(location.databaseUrl, ROWS)
  const database = new DatabaseSync(join(location.home, 'holdfast.db'), { readOnly: true })
  try {
    return database.prepare(ROWS).all() as CommittedRow[]
  } finally {
    database.close()
  }
}

/** A commit id contains the fence of its holder. After a higher fence has written, no lower one may. */
export function staleCommits(rows: readonly CommittedRow[]): string[] {
  const highest = new Map<string, number>()
  return rows.flatMap(({ run, seq, type, commit }) => {
    const fence = fenceOf(commit)
    const before = highest.get(run) ?? 0
    if (fence === undefined) return []
    highest.set(run, Math.max(before, fence))
    return fence < before ? [`${run}: event ${seq} (${type}) was written under fence ${fence} after ${before}`] : []
  })
}

/** `3.7` by the third holder, `takeover-run-…-3` at its takeover; undefined for guests, which have no fence. */
function fenceOf(commit: string): number | undefined {
  const fence = /^(\d+)\.(?:fault\.)?\d+$/.exec(commit)?.[1] ?? /^takeover-.*-(\d+)$/.exec(commit)?.[1]
  return fence === undefined ? undefined : Number(fence)
}

/** One query to PostgreSQL on its own connection. */
export async function query<Row>(url: string, sql: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url, types: { getTypeParser: parserOf as never } })
  client.on('error', () => {
    // The running query fails with it.
  })
  await client.connect()
  try {
    return (await client.query(sql, values)).rows as Row[]
  } finally {
    await client.end()
  }
}

const INT8 = 20
const parserOf = (oid: number, format: 'text') => (oid === INT8 ? Number : pg.types.getTypeParser(oid, format))
