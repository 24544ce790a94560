import type { CallFailure } from '../../core/gateway/send-plan.ts'
import type { ReceiveOptions } from '../../ports/platform.ts'
import { STORED_TYPES, type WireEvent } from './read-event.ts'
import { asRead, type MatrixTransport, roomPath } from './transport.ts'

/** Without `sleep`, a rate limit is a failure like others. */
type HistoryParts = { transport: MatrixTransport; signal: AbortSignal; sleep?: ReceiveOptions['sleep'] }

type Page = { chunk?: WireEvent[]; state?: WireEvent[]; end?: string }
type Range = { room: string; from?: string; to?: string; dir: 'f' | 'b' }

const PAGE = 100
const DEFAULT_WAIT_MS = 5_000
const FILTER = JSON.stringify({ types: [...STORED_TYPES, 'm.room.member'], lazy_load_members: true })

/** The pages of a room's history, until one has no end or `take` has enough. A room that the bot left has none. */
export async function readHistory(
  { room, from, to, dir }: Range,
  { transport, sleep, signal }: HistoryParts,
  take: (page: { events: WireEvent[]; state: WireEvent[] }) => Promise<'more' | 'enough'>,
): Promise<CallFailure | undefined> {
  for (let at = from; !signal.aborted; ) {
    const query: Record<string, string> = { dir, limit: String(PAGE), filter: FILTER }
    if (at !== undefined) query.from = at
    if (to !== undefined) query.to = to
    const read = await transport.call<Page>({ method: 'GET', path: roomPath(room, 'messages'), query }, signal)
    if (read.type === 'failed') {
      const { kind, retryAfterMs = DEFAULT_WAIT_MS } = read.failure
      if (kind === 'dead-target') return undefined
      if (kind !== 'rate-limited' || !sleep) return asRead(read.failure)
      await sleep(retryAfterMs)
      continue
    }
    const { chunk: events = [], state = [], end } = read.result
    const wants = await take({ events, state })
    if (wants === 'enough' || end === undefined || end === at || end === to) return undefined
    at = end
  }
  return undefined
}
