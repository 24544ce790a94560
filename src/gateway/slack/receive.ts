import { defined } from '../../core/defined.ts'
import type { RawUpdate } from '../../core/gateway/incoming.ts'
import type { CallFailure } from '../../core/gateway/send-plan.ts'
import type { ReceiveOptions } from '../../ports/platform.ts'
import { readGap } from './history.ts'
import { rawUpdateOf, type StoredEvent, type WireMessage } from './read-event.ts'
import { type ReceiveParts, storedOf } from './stored-event.ts'
import type { Envelope } from './transport.ts'

const ALIVE_MS = 20_000

/**
 * Receives until a connection ends for another reason than Slack's hourly refresh. The cursor is the timestamp of the last
 * message up to which everything was committed; it stays while the history behind it is read.
 */
export async function receiveEvents(options: ReceiveOptions, parts: ReceiveParts): Promise<CallFailure> {
  let { cursor } = options
  for (let isCold = true; ; isCold = false) {
    const moved = (next: string) => {
      cursor = next
    }
    const ended = await receiveOnce({ ...options, cursor, isCold }, parts, moved)
    if (options.signal.aborted) return { kind: 'stopped', detail: 'stopped' }
    if (ended !== 'refresh') return ended
  }
}

async function receiveOnce(
  options: ReceiveOptions & { isCold: boolean },
  parts: ReceiveParts,
  moved: (cursor: string) => void,
): Promise<'refresh' | CallFailure> {
  const { commit, alive, sleep, now } = options
  const over = new AbortController()
  const signal = AbortSignal.any([options.signal, over.signal])
  const waiting: Envelope[] = []
  let newest = options.cursor
  let isGapRead = false
  let failure: CallFailure | undefined
  let fault: { reason: unknown } | undefined
  let draining: Promise<void> | undefined
  let reading: Promise<void> | undefined

  const fail = (reason: unknown) => {
    fault ??= { reason }
    over.abort()
  }

  function received(envelope: Envelope): void {
    alive()
    waiting.push(envelope)
    draining ??= drain()
      .catch(fail)
      .finally(() => {
        draining = undefined
      })
  }

  /** What arrived meanwhile is one commit. An envelope is acknowledged after it; without that, Slack delivers it again. */
  async function drain(): Promise<void> {
    while (waiting.length > 0 && !signal.aborted) {
      const batch = waiting.splice(0)
      const updates: RawUpdate[] = []
      for (const { type, body } of batch) {
        const stored = storedOf({ type, body }, parts)
        if (stored) updates.push(await withName(stored))
      }
      await save(updates)
      for (const envelope of batch) void envelope.acknowledge().catch(() => undefined)
    }
  }

  async function withName(stored: StoredEvent): Promise<RawUpdate> {
    const { directory, bot } = parts
    if (stored.kind === 'message' && stored.event.user !== undefined) {
      const { user, channel, ts, thread_ts } = stored.event
      if (channel?.startsWith('D')) directory.sawChannel(user, channel)
      if (channel && ts) directory.sawSpeaker(channel, thread_ts ?? ts, user)
      const name = await directory.nameOf(user, signal)
      return rawUpdateOf({ ...stored, ...defined({ name }) }, bot)
    }
    return rawUpdateOf(stored, bot)
  }

  async function save(updates: readonly RawUpdate[]): Promise<void> {
    for (const { raw } of updates) {
      const { event } = JSON.parse(raw) as { event?: WireMessage }
      if (event?.ts !== undefined && Number(event.ts) > Number(newest ?? 0)) newest = event.ts
    }
    if (updates.length === 0) return
    await commit(updates, isGapRead ? newest : undefined)
    if (isGapRead && newest !== undefined) moved(newest)
  }

  async function catchUp(): Promise<void> {
    const { cursor } = options
    if (cursor === undefined) newest = newerOf(newest, String(now() / 1_000))
    else {
      const stopped = await readGap({ ...options, since: Number(cursor), signal }, parts, {
        take: async (stored) => save(await Promise.all(stored.map(withName))),
      })
      if (stopped) {
        failure = stopped
        return over.abort()
      }
    }
    if (signal.aborted) return
    isGapRead = true
    await commit([], newest)
    if (newest !== undefined) moved(newest)
  }

  const handlers = {
    opened() {
      alive()
      reading ??= catchUp().catch(fail)
      void stayAlive()
    },
    received,
    alive,
  }

  /** The library answers the pings of Slack and closes a connection without them. */
  async function stayAlive(): Promise<void> {
    while (!signal.aborted) {
      await sleep(ALIVE_MS)
      if (!signal.aborted) alive()
    }
  }

  const ended = await parts.transport.connect(handlers, signal)
  over.abort()
  await Promise.all([draining, reading])
  if (fault) throw fault.reason
  return failure ?? ended
}

const newerOf = (one: string | undefined, other: string): string => (Number(one ?? 0) > Number(other) ? one! : other)
