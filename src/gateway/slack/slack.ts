import { defined } from '../../core/defined.ts'
import { MOST_FILE_BYTES } from '../../core/gateway/chat-file.ts'
import type { Attachment } from '../../core/gateway/incoming.ts'
import type { CallFailure } from '../../core/gateway/send-plan.ts'
import type { ChatAddress } from '../../core/gateway/session.ts'
import type { AccountSettings } from '../../core/gateway/settings.ts'
import type { BotIdentity, CallOutcome, Capabilities, OutgoingText, PlatformConnection } from '../../ports/platform.ts'
import { newDirectory } from './directory.ts'
import { earlierIn } from './earlier.ts'
import { escapeText } from './mrkdwn.ts'
import { type Bot, parseStored, readEvent } from './read-event.ts'
import { receiveEvents } from './receive.ts'
import { findFile, sendFile } from './send-file.ts'
import { newStreams } from './streams.ts'
import { failed, type SlackTransport } from './transport.ts'

/** About one message a second in a channel, 50 edits a minute in the workspace. With a margin. */
const CAPABILITIES: Capabilities = {
  sends: 'readable',
  edits: true,
  // 40,000 are possible and 4,000 advised.
  maxText: 3_900,
  maxFileBytes: MOST_FILE_BYTES,
  notifiesOfEdits: false,
  buttons: true,
  commandPrefix: '/holdfast ',
  threadsAreConversations: true,
  pace: { privateMs: 1_100, groupMs: 1_100, burst: 2, groupBurst: 2, perSecond: 15, interimPerMinute: 40 },
}

const PLACEHOLDER = '…'

/** Slack by Socket Mode: no address has to be public. */
export async function openSlack(settings: AccountSettings, known?: BotIdentity): Promise<PlatformConnection> {
  const { token, appToken, apiRoot } = settings
  if (token === undefined || appToken === undefined)
    return slackOver(refusing(token === undefined ? NO_TOKEN : NO_APP_TOKEN), { settings, known })
  // Not with this file: the lab has another transport.
  const { slackTransport } = await import('./libraries.ts')
  return slackOver(slackTransport({ token, appToken, apiRoot }), { settings, known })
}

const NO_TOKEN: CallFailure = {
  kind: 'unauthorized',
  detail: 'The account has no bot token (xoxb-…). Set its `token` in config.yaml, or SLACK_BOT_TOKEN.',
}
const NO_APP_TOKEN: CallFailure = {
  kind: 'unauthorized',
  detail: 'The account has no app-level token (xapp-…). Set its `app_token` in config.yaml, or SLACK_APP_TOKEN.',
}

const refusing = (failure: CallFailure): SlackTransport => ({
  call: async () => failed(failure),
  connect: async () => failure,
  upload: async () => failed(failure),
  download: async () => failed(failure),
})

type SlackOptions = { settings: Pick<AccountSettings, 'groups'>; known: BotIdentity | undefined }

/** The platform over any transport: the lab has one with virtual time and faults. */
export function slackOver(transport: SlackTransport, { settings, known }: SlackOptions): PlatformConnection {
  let bot: Bot | undefined = known
  let own: { botId: string | undefined; teamId: string | undefined } = { botId: undefined, teamId: undefined }
  const directory = newDirectory(transport)
  const streams = newStreams(transport)
  const { call } = transport

  /** The message as Slack takes it. */
  async function target({ chatId, thread }: ChatAddress, signal: AbortSignal) {
    const found = await directory.channelOf(chatId, signal)
    return found.type === 'failed' ? found : { type: 'done' as const, channel: found.channel, thread }
  }

  return {
    capabilities: CAPABILITIES,

    async identify(signal) {
      const me = await call<{ user_id?: string; bot_id?: string; user?: string; team_id?: string }>(
        'auth.test',
        {},
        signal,
      )
      if (me.type === 'failed') return me
      const { user_id: id, bot_id: botId, user: name, team_id: teamId } = me.result
      if (id === undefined) return failed({ kind: 'unknown', detail: 'Slack answered without a user' })
      bot = { id, name: name ?? id }
      own = { botId, teamId }
      return { type: 'done', identity: bot }
    },

    async receive(options) {
      if (!bot) return { kind: 'stopped', detail: 'stopped' }
      return receiveEvents(options, {
        transport,
        directory,
        bot,
        botId: own.botId,
        groups: Object.keys(settings.groups),
      })
    },

    read: (raw) => readEvent(parseStored(raw), bot),

    // A send can be found again, so no message needs a placeholder.
    place: async () => failed({ kind: 'refused', detail: 'Slack needs no placeholder' }),

    async send({ address, key, ...message }, signal) {
      const to = await target(address, signal)
      if (to.type === 'failed') return to
      const { channel, thread } = to
      if (message.file) return sendFile(transport, { channel, thread, file: message.file }, signal)
      if (message.text === '' && thread !== undefined && own.teamId !== undefined) {
        const user = directory.lastSpeaker(channel, thread)
        const started = user && (await streams.start({ channel, thread, user, team: own.teamId }, signal))
        if (started) return started
      }
      const posted = await call<{ ts?: string }>(
        'chat.postMessage',
        {
          channel,
          ...contentOf(message),
          unfurl_links: false,
          unfurl_media: false,
          metadata: { event_type: EVENT_TYPE, event_payload: { key } },
          ...defined({ thread_ts: thread }),
        },
        signal,
      )
      if (posted.type === 'failed') return posted
      const { ts } = posted.result
      return ts === undefined
        ? failed({ kind: 'unknown', detail: 'Slack answered without a message' })
        : { type: 'done', messageId: ts }
    },

    async edit({ address, messageId, ...message }, signal) {
      const to = await target(address, signal)
      if (to.type === 'failed') return to
      const { channel } = to
      if (streams.isOpen(messageId)) await streams.stop({ channel, ts: messageId }, signal)
      const edited = await update({ channel, ts: messageId, message }, signal)
      // A stream that a former process began.
      if (edited.type === 'done' || !/streaming/.test(edited.failure.detail)) return edited
      await streams.stop({ channel, ts: messageId }, signal)
      return update({ channel, ts: messageId, message }, signal)
    },

    async showProgress({ address, messageId, progress, text }, signal) {
      const to = await target(address, signal)
      if (to.type === 'failed') return to
      const { channel } = to
      if (streams.isOpen(messageId)) {
        const appended = await streams.append({ channel, ts: messageId }, progress, signal)
        if (appended) return appended
      }
      return update({ channel, ts: messageId, message: { text, isPlain: true } }, signal)
    },

    /** Reads what the bot said since then: the message with this key is among it, or it was not sent. */
    async find({ key, file, address, since, isTaken }, signal) {
      const to = await target(address, signal)
      if (to.type === 'failed') return to
      const { channel, thread } = to
      const oldest = String((since - FIND_MARGIN_MS) / 1_000)
      const method = thread === undefined ? 'conversations.history' : 'conversations.replies'
      const about = { channel, oldest, limit: 200, include_all_metadata: true, ...defined({ ts: thread }) }
      let stream: string | undefined
      for (let cursor = ''; ; ) {
        const read = await call<Page>(method, { ...about, ...defined({ cursor: cursor || undefined }) }, signal)
        // A thread that is gone has no message of ours.
        if (read.type === 'failed') return read.failure.kind === 'thread-gone' ? { type: 'done' } : read
        const { messages = [], response_metadata } = read.result
        const withKey = messages.find(({ metadata }) => metadata?.event_payload?.key === key)
        const found = file === undefined ? withKey?.ts : findFile(messages, { name: file, user: bot?.id, isTaken })
        if (found !== undefined) return { type: 'done', messageId: found }
        if (file === undefined)
          stream ??= messages.find((message) => isEmptyStream(message) && !isTaken(message.ts!))?.ts
        cursor = response_metadata?.next_cursor ?? ''
        if (cursor === '') return { type: 'done', ...defined({ messageId: stream }) }
      }
    },

    earlier: (place, signal) => earlierIn(place, { transport, directory, bot }, signal),

    async acknowledgePress(pressId, text, signal) {
      const [channel = '', user = '', thread = ''] = pressId.split('|')
      if (text === '') return { type: 'done' }
      const payload = { channel, user, text: escapeText(text), ...defined({ thread_ts: thread || undefined }) }
      return call('chat.postEphemeral', payload, signal)
    },

    // Bots do not type in Slack.
    showTyping: async () => ({ type: 'done' }),

    download: (file: Attachment, signal) => transport.download(file.handle, signal),

    close: async () => undefined,
  }

  /** A stream carries no key. One that began and was lost shows nothing, and no other message of ours is like that. */
  function isEmptyStream({ ts, user, text, metadata, files }: WireSent): boolean {
    return ts !== undefined && user === bot?.id && !text && metadata === undefined && !files?.length
  }

  async function update(
    { channel, ts, message }: { channel: string; ts: string; message: Omit<OutgoingText, 'address'> },
    signal: AbortSignal,
  ): Promise<CallOutcome> {
    const updated = await call<{ ts?: string }>('chat.update', { channel, ts, ...contentOf(message) }, signal)
    if (updated.type === 'failed' || updated.result.ts === ts) return updated
    return failed({ kind: 'refused', detail: 'Slack answered without the message' })
  }
}

const EVENT_TYPE = 'holdfast_message'
/** Clocks differ. */
const FIND_MARGIN_MS = 330_000

type WireSent = {
  ts?: string
  user?: string
  text?: string
  metadata?: { event_payload?: { key?: unknown } }
  files?: { id?: string; name?: string; title?: string }[]
}

type Page = {
  messages?: WireSent[]
  response_metadata?: { next_cursor?: string }
}

/** Always with blocks: an update without them would keep the former ones, buttons included. */
function contentOf({ text, isPlain, buttons = [] }: Omit<OutgoingText, 'address'>) {
  const shown = text === '' ? PLACEHOLDER : text
  const isBare = (isPlain || text === '') && buttons.length === 0
  const words = isPlain
    ? { type: 'section', text: { type: 'plain_text', text: shown.slice(0, 3_000) } }
    : { type: 'markdown', text: shown }
  const elements = buttons.map(({ label, data }) => ({
    type: 'button',
    action_id: data,
    value: data,
    text: { type: 'plain_text', text: label, emoji: true },
  }))
  const actions = elements.length === 0 ? [] : [{ type: 'actions', elements }]
  return { text: escapeText(shown), blocks: isBare ? [] : [words, ...actions] }
}
