import type { ChatAddress } from '../../core/gateway/session.ts'
import type { CallOutcome, EarlierMessage } from '../../ports/platform.ts'
import type { Directory } from './directory.ts'
import { plainText } from './mrkdwn.ts'
import type { Bot, WireMessage } from './read-event.ts'
import type { SlackTransport } from './transport.ts'

type Parts = { transport: SlackTransport; directory: Directory; bot: Bot | undefined }

/** A page of a thread, which Slack reads from its root. */
const PAGE = 200

/** The root of a thread, and what was said last before this message. */
export async function earlierIn(
  { address, before, limit }: { address: ChatAddress; before: string; limit: number },
  { transport, directory, bot }: Parts,
  signal: AbortSignal,
): Promise<CallOutcome<{ messages: EarlierMessage[] }>> {
  const payload = { channel: address.chatId, ts: address.thread, latest: before, limit: PAGE }
  const read = await transport.call<{ messages?: WireMessage[] }>('conversations.replies', payload, signal)
  if (read.type === 'failed') return read
  const said = (read.result.messages ?? [])
    .filter(({ ts, text }) => ts !== undefined && Number(ts) < Number(before) && text)
    .toSorted((one, other) => Number(one.ts) - Number(other.ts))
  const [root, ...replies] = said
  const messages: EarlierMessage[] = []
  for (const { user, bot_id, text = '' } of root ? [root, ...replies.slice(1 - limit)] : []) {
    const name = user === undefined ? bot_id : ((await directory.nameOf(user, signal)) ?? user)
    messages.push({ from: user === bot?.id ? undefined : name, text: plainText(text, bot) })
  }
  return { type: 'done', messages }
}
