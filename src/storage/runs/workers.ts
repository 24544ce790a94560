import { sql } from 'kysely'
import type { WorkerId } from '../../core/id.ts'
import type { Clock } from '../../ports/clock.ts'
import type { WorkerStore } from '../../ports/store.ts'
import type { Database } from '../database/database.ts'
import { statement } from '../database/statement.ts'

/** `sole`: the lock of the home proves that every other worker is dead. `peer`: other workers may be alive. */
export type StoreOwnership = 'sole' | 'peer'

export function workerStore({ write }: Database, options: { clock: Clock; ownership: StoreOwnership }): WorkerStore {
  const { clock, ownership } = options
  return {
    beat: (workerId, leaseMs) =>
      write({
        key: '',
        async work(db) {
          await db.run(renew, { id: workerId, now: leaseNow(clock), leaseMs })
          if (ownership === 'sole') await db.run(removeOthers, { id: workerId })
          return true
        },
        findCommitted: () => undefined,
      }).then(() => undefined),

    leave: (workerId) =>
      write({
        key: '',
        async work(db) {
          await db.run(remove, { id: workerId })
          return true
        },
        findCommitted: () => undefined,
        announce: true,
      }).then(() => undefined),
  }
}

/** Monotonic time in whole milliseconds. */
export const leaseNow = (clock: Clock): number => Math.floor(clock.monotonic())

const renew = statement<{ id: WorkerId; now: number; leaseMs: number }>()((db, p, { leaseClock }) => {
  const expiry = sql<number>`${leaseClock(p('now'))} + ${p('leaseMs')}`
  return db
    .insertInto('workers')
    .values({ id: p('id'), expires_at: expiry })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ expires_at: expiry }))
})

const removeOthers = statement<{ id: WorkerId }>()((db, p) => db.deleteFrom('workers').where('id', '<>', p('id')))

const remove = statement<{ id: WorkerId }>()((db, p) => db.deleteFrom('workers').where('id', '=', p('id')))
