import { defined } from '../../core/defined.ts'
import type { CallFailure } from '../../core/gateway/send-plan.ts'
import type { CallOutcome, ReceiveOptions } from '../../ports/platform.ts'
import type { StoredEvent, WireMessage } from './read-event.ts'
import { picked, type ReceiveParts } from './stored-event.ts'

type GapOptions = Pick<ReceiveOptions, 'known' | 'sleep' | 'signal'> & {
  /** The timestamp of the last message that is known to be stored. */
  since: number
  /** Nothing was connected, so a person may have written for the first time. */
  isCold: boolean
}

type Page = { messages?: WireMessage[]; response_metadata?: { next_cursor?: string } }

/** Messages of a gap may be a little older than the last one that arrived. */
const MARGIN_S = 300
const DEFAULT_WAIT_MS = 30_000
const MOST_JOINED = 200

/**
 * Reads what was said in the known chats since then: Slack delivers nothing to an app that is not connected. Messages that
 * arrived as well are recognized by their timestamp. A failure ends the connection, and the next one begins again.
 */
export async function readGap(
  options: GapOptions,
  parts: ReceiveParts,
  { take }: { take(events: StoredEvent[]): Promise<void> },
): Promise<CallFailure | undefined> {
  const { known, sleep, signal, since, isCold } = options
  const { transport, directory, bot, botId, groups } = parts
  const oldest = (since - MARGIN_S).toFixed(6)
  const chats = await known()
  const joined = isCold ? await joinedChats() : []
  const channels = new Set([
    ...chats.map(({ chatId }) => chatId),
    ...groups.filter((id) => /^[CG]/.test(id)),
    ...joined,
  ])
  const places: { chatId: string; thread?: string }[] = [
    ...[...channels].map((chatId) => ({ chatId })),
    ...chats.filter(({ thread }) => thread !== undefined),
  ]
  for (const { chatId, thread } of places) {
    const found = await directory.channelOf(chatId, signal)
    if (found.type === 'failed') {
      if (found.failure.kind === 'dead-target') continue
      return found.failure
    }
    const failure = await readPlace(found.channel, thread)
    if (failure) return failure
  }
  return undefined

  /** Private chats and channels of the bot. Without the scope to list them, those with a session are read. */
  async function joinedChats(): Promise<string[]> {
    const payload = { types: 'public_channel,private_channel,mpim,im', exclude_archived: true, limit: MOST_JOINED }
    const listed = await transport.call<{ channels?: { id?: string; user?: string; is_im?: boolean }[] }>(
      'users.conversations',
      payload,
      signal,
    )
    if (listed.type === 'failed') return []
    return (listed.result.channels ?? []).flatMap(({ id, user, is_im }) => {
      if (is_im && id !== undefined && user !== undefined) directory.sawChannel(user, id)
      return (is_im ? user : id) ?? []
    })
  }

  async function readPlace(channel: string, thread: string | undefined): Promise<CallFailure | undefined> {
    const method = thread === undefined ? 'conversations.history' : 'conversations.replies'
    const said: StoredEvent[] = []
    let cursor: string | undefined
    while (!signal.aborted) {
      const payload: object = { channel, oldest, limit: 200, ...defined({ ts: thread, cursor }) }
      const read: CallOutcome<{ result: Page }> = await transport.call<Page>(method, payload, signal)
      if (read.type === 'failed') {
        const { kind, retryAfterMs = DEFAULT_WAIT_MS } = read.failure
        // The chat or the thread is gone, with what was said there.
        if (kind === 'dead-target' || kind === 'thread-gone') return undefined
        if (kind !== 'rate-limited') return read.failure
        await sleep(retryAfterMs)
        continue
      }
      const { messages = [], response_metadata } = read.result
      said.push(...messages.flatMap((message) => eventOf(message, channel)))
      cursor = response_metadata?.next_cursor || undefined
      if (cursor === undefined) break
    }
    // A channel is read from its end, and a lane is handled in the order of its rows.
    said.sort((one, other) => timeOf(one) - timeOf(other))
    if (said.length > 0) await take(said)
    return undefined
  }

  /** As the event would have been. */
  function eventOf(message: WireMessage, channel: string): StoredEvent[] {
    const isOwn = message.user === bot.id || (botId !== undefined && message.bot_id === botId)
    if (isOwn || message.ts === undefined || Number(message.ts) < Number(oldest)) return []
    return [
      {
        kind: 'message',
        id: `history/${channel}/${message.ts}`,
        event: picked({ ...message, type: 'message', channel }),
      },
    ]
  }
}

const timeOf = (stored: StoredEvent): number => (stored.kind === 'message' ? Number(stored.event.ts) : 0)
