import type { Database } from './database/database.ts'
import { statement } from './database/statement.ts'

/** A migration inserted the only row. */
export async function homeId({ read }: Pick<Database, 'read'>): Promise<string> {
  const home = await read((db) => db.get(select, {}))
  if (!home) throw new Error('the table `homes` is empty')
  return home.id
}

const select = statement<Record<never, never>>()((db) => db.selectFrom('homes').select('id'))
