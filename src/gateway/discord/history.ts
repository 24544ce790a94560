import type { CallFailure } from '../../core/gateway/send-plan.ts'
import type { ReceiveOptions } from '../../ports/platform.ts'
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
  for (const [channel, { parent, isDirect }] of channels) {
    const failure = await readChannel(channel, { parent, isDirect })
    if (failure) return failure
  }
  return undefined

  async function readChannel(
    channel: string,
    { parent, isDirect }: { parent: string | undefined; isDirect: boolean },
  ): Promise<CallFailure | undefined> {
    for (let last = after; !signal.aborted; ) {
      const query = { after: last, limit: String(PAGE) }
      const read = await transport.call<WireMessage[]>(
        { method: 'GET', path: `/channels/${channel}/messages`, query },
        signal,
      )
      if (read.type === 'failed') {
        const { kind, retryAfterMs = DEFAULT_WAIT_MS } = read.failure
        if (kind === 'dead-target') return undefined
        if (kind !== 'rate-limited') return read.failure
        await sleep(retryAfterMs)
        continue
      }
      const messages = read.result.toSorted((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1))
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
