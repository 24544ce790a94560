import type { RunId } from '../../core/id.ts'
import type { Transact } from '../database/database.ts'
import { listParameters, listValues, type Slots, statement } from '../database/statement.ts'

/** Streams that one transaction erases, so that other writers wait only briefly. */
const ERASED_AT_ONCE = 50

export async function eraseStreams(runIds: readonly RunId[], transact: Transact): Promise<void> {
  for (let from = 0; from < runIds.length; from += ERASED_AT_ONCE) {
    const some = listValues('run', runIds.slice(from, from + ERASED_AT_ONCE), ERASED_AT_ONCE)
    await transact(async (db) => {
      await db.run(eraseChunks, some)
      return db.run(eraseHeads, some)
    })
  }
}

const eraseChunks = statement<Slots<'run', RunId>>()((db, p) =>
  db.deleteFrom('chunks').where('run_id', 'in', listParameters(p, 'run', ERASED_AT_ONCE)),
)

const eraseHeads = statement<Slots<'run', RunId>>()((db, p) =>
  db.deleteFrom('stream_heads').where('run_id', 'in', listParameters(p, 'run', ERASED_AT_ONCE)),
)

/** All but the one that tells whether the file was lost. */
export const headsAfter = statement<{ after: string; limit: number; sentinel: RunId }>()((db, p) =>
  db
    .selectFrom('stream_heads')
    .select('run_id')
    .where('run_id', '>', p('after') as RunId)
    .where('run_id', '<>', p('sentinel'))
    .orderBy('run_id')
    .limit(p('limit')),
)
