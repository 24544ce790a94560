import { defined } from '../../core/defined.ts'
import type { Directory } from './directory.ts'
import type { Bot, StoredEvent, WireMessage } from './read-event.ts'
import type { Envelope, SlackTransport } from './transport.ts'

export type ReceiveParts = {
  transport: SlackTransport
  directory: Directory
  bot: Bot
  /** As which its own messages come back. */
  botId: string | undefined
  /** Channels of the configuration. */
  groups: readonly string[]
}

/** The fields that are stored; undefined for echoes of the bot's own messages. */
export function storedOf(
  { type, body }: Pick<Envelope, 'type' | 'body'>,
  { bot, botId }: Pick<ReceiveParts, 'bot' | 'botId'>,
): StoredEvent | undefined {
  if (type === 'slash_commands') return { kind: 'command', command: body }
  if (type === 'interactive')
    return body.type === 'block_actions' ? { kind: 'press', press: body } : other(body, `interactive ${body.type}`)
  const event = body.event as (WireMessage & { message?: WireMessage; type?: string }) | undefined
  if (type !== 'events_api' || !event) return other(body, type)
  if (event.type !== 'message' && event.type !== 'app_mention') return other(body, String(event.type))
  const said = event.subtype === 'message_changed' ? event.message : event
  if (said?.user === bot.id || (botId !== undefined && said?.bot_id === botId)) return undefined
  return { kind: 'message', id: String(body.event_id), event: picked(event) }
}

const other = (body: Record<string, unknown>, type: string): StoredEvent => ({
  kind: 'other',
  id: String(body.event_id ?? body.trigger_id ?? JSON.stringify(body).slice(0, 200)),
  type,
})

/** The rest of an event repeats its text as blocks. */
export const picked = (event: WireMessage): WireMessage => {
  const { type, subtype, channel, channel_type, user, bot_id, text, ts, thread_ts } = event
  const files = event.files?.map(
    ({ id, name, mimetype, size, url_private_download, url_private, subtype: kind, duration_ms }) => ({
      id,
      ...defined({ name, mimetype, size, url_private_download, url_private, subtype: kind, duration_ms }),
    }),
  )
  return defined({ type, subtype, channel, channel_type, user, bot_id, text, ts, thread_ts, files })
}
