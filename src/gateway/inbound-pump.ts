import type { InboundRow } from '../core/gateway/inbound.ts'
import { CUT_LENGTH, partsOf } from '../core/gateway/join-parts.ts'
import { joinUpdates, pendingUpdates } from '../service/gateway/updates.ts'
import type { AccountDeps } from './account-deps.ts'
import { handleMessage, handleNow, type ReadUpdate } from './handle-update.ts'
import { newRounds } from './rounds.ts'

/** Handles stored updates: each lane in its order, commands and buttons at once. */
type InboundPump = { wake(): void; stop(): Promise<void> }

/** Updates that are looked at in one round. */
const ROUND = 500
/** After a fault, such as a store that is unavailable. */
const RETRY_MS = 1_000

export function newInboundPump(deps: AccountDeps & { onTaken(): void }): InboundPump {
  const { scope, platform, context, signal, fail } = deps
  const { clock } = context.deps
  const busyLanes = new Map<string, Promise<void>>()
  const busyNumbers = new Set<number>()
  const notBefore = new Map<string, number>()
  const rounds = newRounds({
    work: startRound,
    failed(fault) {
      fail(fault, 'reading the updates')
      rounds.wakeIn(RETRY_MS)
    },
    clock,
    signal,
  })

  async function startRound(): Promise<void> {
    const rows = await pendingUpdates(scope, ROUND, context)
    const lanes = new Map<string, InboundRow[]>()
    for (const row of rows) {
      if (row.kind !== 'message' && row.kind !== 'other') startAtOnce(row)
      else {
        const lane = lanes.get(row.lane)
        if (lane) lane.push(row)
        else lanes.set(row.lane, [row])
      }
    }
    for (const [lane, waiting] of lanes) {
      if (busyLanes.has(lane)) continue
      const waitMs = (notBefore.get(lane) ?? 0) - clock.now()
      if (waitMs > 0) {
        rounds.wakeIn(waitMs)
        continue
      }
      notBefore.delete(lane)
      const done = work(waiting).finally(() => {
        busyLanes.delete(lane)
        rounds.wake()
      })
      busyLanes.set(lane, done)
    }
  }

  function startAtOnce(row: InboundRow): void {
    if (busyNumbers.has(row.number)) return
    busyNumbers.add(row.number)
    const key = `number ${row.number}`
    const done = handleNow(read(row), deps)
      .then(deps.onTaken)
      .catch((fault) => {
        fail(fault, `handling the update ${row.key}`)
        return clock.sleep(RETRY_MS, signal)
      })
      .finally(() => {
        busyNumbers.delete(row.number)
        busyLanes.delete(key)
        rounds.wake()
      })
    busyLanes.set(key, done)
  }

  /** The messages of a lane, one after the other, until one has to wait. */
  async function work(rows: readonly InboundRow[]): Promise<void> {
    let rest = rows.map(read)
    while (rest.length > 0 && !signal.aborted) {
      const lane = rest[0]!.row.lane
      const { parts, waitMs } = partsOf(rest.map(partOf), clock.now())
      if (waitMs > 0) return delay(lane, waitMs)
      const updates = rest.slice(0, parts.length)
      rest = rest.slice(parts.length)
      try {
        const numbers = updates.map(({ row }) => row.number)
        // A repetition after a crash must find the same parts.
        if (updates.length > 1 && updates[0]!.row.head === undefined) await joinUpdates(numbers, scope, context)
        const result = await handleMessage(updates, deps)
        if (result.type === 'waits') return delay(lane, result.forMs)
        deps.onTaken()
      } catch (fault) {
        fail(fault, `handling the update ${updates[0]!.row.key}`)
        return delay(lane, RETRY_MS)
      }
    }
  }

  const read = (row: InboundRow): ReadUpdate => ({ row, incoming: platform.read(row.raw) })

  function delay(lane: string, ms: number): void {
    notBefore.set(lane, clock.now() + ms)
    rounds.wakeIn(ms)
  }

  return {
    wake: rounds.wake,
    async stop() {
      await rounds.ended()
      await Promise.all(busyLanes.values())
    },
  }
}

const partOf = ({ row, incoming }: ReadUpdate) => ({
  ...row,
  isCut: incoming.type === 'message' && incoming.text.length >= CUT_LENGTH,
  album: incoming.type === 'message' ? incoming.album : undefined,
})
