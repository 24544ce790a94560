import type { CallOutcome } from '../../ports/platform.ts'
import type { SlackTransport } from './transport.ts'

/** Channels of private chats and names of people, which Slack does not deliver with its events. */
export type Directory = ReturnType<typeof newDirectory>

const REMEMBERED = 1_000
/** The name is not worth a later acknowledgment. */
const NAME_MS = 1_500

export function newDirectory({ call }: SlackTransport) {
  const channels = new Map<string, string>()
  const names = new Map<string, string>()
  const speakers = new Map<string, string>()

  return {
    /** The channel of a chat. A private chat is known by its person, and opening it again finds it. */
    async channelOf(chatId: string, signal: AbortSignal): Promise<CallOutcome<{ channel: string }>> {
      if (!/^[UW]/.test(chatId)) return { type: 'done', channel: chatId }
      const known = channels.get(chatId)
      if (known !== undefined) return { type: 'done', channel: known }
      const opened = await call<{ channel?: { id?: string } }>('conversations.open', { users: chatId }, signal)
      // It changed nothing that matters, so it may be made again.
      if (opened.type === 'failed' && opened.failure.kind === 'unknown')
        return { type: 'failed', failure: { ...opened.failure, kind: 'unreachable' } }
      if (opened.type === 'failed') return opened
      const channel = opened.result.channel?.id
      if (channel === undefined)
        return { type: 'failed', failure: { kind: 'refused', detail: 'Slack opened no channel' } }
      remember(channels, chatId, channel)
      return { type: 'done', channel }
    },

    sawChannel: (userId: string, channel: string): void => remember(channels, userId, channel),

    async nameOf(userId: string, signal: AbortSignal): Promise<string | undefined> {
      const known = names.get(userId)
      if (known !== undefined) return known
      const limit = AbortSignal.any([signal, AbortSignal.timeout(NAME_MS)])
      const found = await call<{ user?: WireUser }>('users.info', { user: userId }, limit)
      if (found.type === 'failed') return undefined
      const { profile, real_name, name } = found.result.user ?? {}
      const shown = profile?.display_name || real_name || name
      if (shown) remember(names, userId, shown)
      return shown
    },

    /** Whom a stream in this thread is for. */
    lastSpeaker: (channel: string, thread: string): string | undefined => speakers.get(`${channel}:${thread}`),
    sawSpeaker: (channel: string, thread: string, userId: string): void =>
      remember(speakers, `${channel}:${thread}`, userId),
  }
}

type WireUser = { name?: string; real_name?: string; profile?: { display_name?: string } }

function remember(map: Map<string, string>, key: string, value: string): void {
  map.delete(key)
  map.set(key, value)
  const oldest = map.size > REMEMBERED ? map.keys().next().value : undefined
  if (oldest !== undefined) map.delete(oldest)
}
