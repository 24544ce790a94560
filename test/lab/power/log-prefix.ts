import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Rows that never change once they are written. */
export type LogRows = Map<string, string>

const LOGS = {
  events: `select run_number || ':' || seq as key, at || type || body || commit_id as row from events`,
  messages: `select conversation_id || ':' || position as key, id || role || body as row from messages`,
}

/** Reads the log of a home without changing it; empty if the first start was lost, too. Throws if it does not open. */
export function readLog(home: string): LogRows {
  const database = new DatabaseSync(join(home, 'holdfast.db'), { readOnly: true })
  try {
    const sound = database.prepare('pragma quick_check').get() as { quick_check: string }
    if (sound.quick_check !== 'ok') throw new Error(sound.quick_check)
    const tables = new Set(
      database
        .prepare('select name from sqlite_master')
        .all()
        .map(({ name }) => name),
    )
    const rows: LogRows = new Map()
    for (const [table, query] of Object.entries(LOGS))
      if (tables.has(table))
        for (const { key, row } of database.prepare(query).all()) rows.set(`${table} ${key}`, String(row))
    return rows
  } finally {
    database.close()
  }
}

/** The later log must contain every row of the earlier one, unchanged. */
export function checkPrefix(earlier: LogRows, later: LogRows): string[] {
  return [...earlier].flatMap(([key, row]) => {
    const now = later.get(key)
    if (now === undefined) return [`${key} was stored and is gone`]
    return now === row ? [] : [`${key} was ${row} and is ${now}`]
  })
}

/** Numbers have no gaps: events of a run from 1, messages of a conversation from 0. */
export function checkDense(rows: LogRows): string[] {
  const numbers = Map.groupBy(rows.keys(), (key) => key.slice(0, key.lastIndexOf(':')))
  return [...numbers].flatMap(([log, keys]) => {
    const first = log.startsWith('events') ? 1 : 0
    const found = keys.map((key) => Number(key.slice(key.lastIndexOf(':') + 1))).sort((a, b) => a - b)
    return found.every((number, index) => number === first + index) ? [] : [`${log} has the numbers ${found.join(' ')}`]
  })
}
