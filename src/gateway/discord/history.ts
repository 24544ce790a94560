import { defined } from '../../core/defined.ts'
import type { CallFailure } from '../../core/gateway/send-plan.ts'
import type { CallOutcome, ReceiveOptions } from '../../ports/platform.ts'
import { picked, type StoredEvent, type WireMessage } from './read-event.ts'
import type { ReceiveParts } from './receive-parts.ts'

type GapOptions = Pick<ReceiveOptions, 'known' | 'sleep' | 'signal'> & {
  /** The last message that is known to be stored. */
  after: string
}

const PAGE = 100
const DEFAULT_WAIT_MS = 5_000

/**
 * Reads what was said in the known channels after this message: Discord does not replay a session that it forgot. Messages
 * that arrived as well are recognized by their id. A failure ends the connection, and the next one begins again.
 */
export async function readGap(
  { known, sleep, signal, after }: GapOptions,
  { transport, directory, bot, groups }: ReceiveParts,
  take: (events: StoredEvent[]) => Promise<void>,
): Promise<CallFailure | undefined> {
  const chats = await known()
  const people = chats.filter(({ isPrivate }) => isPrivate).map(({ chatId }) => chatId)
  const rooms = chats.filter(({ isPrivate }) => !isPrivate)
  const channels = new Map<string, { parent?: string; isDirect: boolean }>()
  for (const id of groups.filter((each) => /^\d+$/.test(each))) channels.set(id, { isDirect: false })
  for (const { chatId, thread } of rooms) {
    channels.set(chatId, { isDirect: false })
    if (thread !== undefined) channels.set(thread, { isDirect: false, parent: chatId })
  }
  for (const userId of new Set(people)) {
    const found = await directory.directChannel(userId, signal)
    if (found.type === 'failed' && found.failure.kind !== 'dead-target') return found.failure
    if (found.type === 'done') channels.set(found.channel, { isDirect: true })
  }
  const listed = await listThreads()
  if (listed) return listed
  for (const [channel, { parent, isDirect }] of channels) {
    const failure = await readChannel(channel, { parent, isDirect })
    if (failure) return failure
  }
  return undefined

  /** Threads of these channels in which something was said since then: a first mention may be in one that is not known. */
  async function listThreads(): Promise<CallFailure | undefined> {
    const guilds = new Set<string>()
    for (const [channel, { parent, isDirect }] of channels) {
      if (isDirect || parent !== undefined) continue
      const found = await read<{ guild_id?: string }>(`/channels/${channel}`)
      if (found.type === 'failed') return found.failure
      if (found.result?.guild_id !== undefined) guilds.add(found.result.guild_id)
    }
    for (const guild of guilds) {
      const active = await read<{ threads?: WireThread[] }>(`/guilds/${guild}/threads/active`)
      if (active.type === 'failed') return active.failure
      for (const { id, parent_id: parent, last_message_id: last } of active.result?.threads ?? []) {
        const isQuiet = last != null && BigInt(last) <= BigInt(after)
        if (parent != null && channels.has(parent) && !isQuiet) channels.set(id, { isDirect: false, parent })
      }
    }
    return undefined
  }

  /** Waits as long as Discord asks for. Without a result: the place is gone, with what was said there. */
  async function read<T>(path: string, query?: Record<string, string>): Promise<CallOutcome<{ result?: T }>> {
    for (;;) {
      const outcome = await transport.call<T>({ method: 'GET', path, ...defined({ query }) }, signal)
      if (outcome.type === 'done') return outcome
      const { kind, retryAfterMs = DEFAULT_WAIT_MS } = outcome.failure
      if (kind === 'dead-target') return { type: 'done' }
      if (kind !== 'rate-limited' || signal.aborted) return outcome
      await sleep(retryAfterMs)
    }
  }

  async function readChannel(
    channel: string,
    { parent, isDirect }: { parent: string | undefined; isDirect: boolean },
  ): Promise<CallFailure | undefined> {
    for (let last = after; !signal.aborted; ) {
      const page = await read<WireMessage[]>(`/channels/${channel}/messages`, { after: last, limit: String(PAGE) })
      if (page.type === 'failed') return page.failure
      const messages = (page.result ?? []).toSorted((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1))
      const events = messages.filter(({ author }) => author?.id !== bot.id).map(eventOf)
      if (events.length > 0) await take(events)
      if (messages.length < PAGE) return undefined
      last = messages.at(-1)!.id
    }
    return undefined

    /** As the event would have been: history does not say to which server a channel belongs. */
    function eventOf(message: WireMessage): StoredEvent {
      const said = picked(message)
      if (!isDirect) said.guild_id ??= 'unknown'
      return parent === undefined ? { kind: 'message', message: said } : { kind: 'message', message: said, parent }
    }
  }
}

type WireThread = { id: string; parent_id?: string | null; last_message_id?: string | null }
