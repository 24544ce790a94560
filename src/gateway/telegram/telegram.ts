import { defined } from '../../core/defined.ts'
import { CHAT_COMMANDS } from '../../core/gateway/chat-command.ts'
import { MOST_FILE_BYTES } from '../../core/gateway/chat-file.ts'
import type { Attachment, Incoming } from '../../core/gateway/incoming.ts'
import { markdownToHtml } from '../../core/gateway/markdown-html.ts'
import type { CallFailure } from '../../core/gateway/send-plan.ts'
import type { ChatAddress } from '../../core/gateway/session.ts'
import type { AccountSettings } from '../../core/gateway/settings.ts'
import type {
  BotIdentity,
  CallOutcome,
  Capabilities,
  OutgoingFile,
  OutgoingText,
  PlatformConnection,
  ReceiveOptions,
} from '../../ports/platform.ts'
import { lostCall } from './errors.ts'
import { HTML } from './html.ts'
import { type Bot, rawUpdateOf, readUpdate, type WireUpdate } from './read-update.ts'
import { failed, grammyTransport, type TelegramTransport } from './transport.ts'
import { receiveByWebhook } from './webhook.ts'

/** One message a second in a private chat, 20 a minute in a group, 30 a second in all; edits count. With a margin. */
const CAPABILITIES: Capabilities = {
  sends: 'blind',
  edits: true,
  // 4,096 after its formatting is parsed.
  maxText: 4_000,
  // Bots can send 50 MB; what they can read is less.
  maxFileBytes: MOST_FILE_BYTES,
  notifiesOfEdits: false,
  buttons: true,
  commandPrefix: '/',
  // A topic of a forum is as wide as a group.
  threadsAreConversations: false,
  pace: { privateMs: 1_300, groupMs: 3_600, burst: 2, groupBurst: 2, perSecond: 20 },
}

/** A placeholder says nothing, so that a second one is no second answer. */
const PLACEHOLDER = '…'
/** Telegram holds an empty poll for so long, at most 50 s. */
const POLL_S = 25
const POLL_TIMEOUT_MS = 45_000
/** Only these kinds are delivered. The setting is sticky, so it is always stated. */
const UPDATE_KINDS = ['message', 'edited_message', 'callback_query', 'stopped_message_generation'] as const

const DEFAULT_ROOT = 'https://api.telegram.org'

/** Telegram by long polling, or by a webhook if one is configured. */
export async function openTelegram(settings: AccountSettings, known?: BotIdentity): Promise<PlatformConnection> {
  const { token = '', apiRoot = DEFAULT_ROOT } = settings
  const root = apiRoot.replace(/\/+$/, '')
  // Without a token every call is refused before it is made.
  const call: TelegramTransport = token === '' ? async () => failed(NO_TOKEN) : grammyTransport(token, root)
  return telegramOver(call, { settings, known, files: `${root}/file/bot${token}` })
}

type TelegramOptions = {
  settings: AccountSettings
  known: BotIdentity | undefined
  /** Where files are downloaded. */
  files: string
}

/** The platform over any transport: the lab has one with virtual time and faults. */
export function telegramOver(call: TelegramTransport, { settings, known, files }: TelegramOptions): PlatformConnection {
  let bot: Bot | undefined = known

  async function poll(options: ReceiveOptions): Promise<CallFailure> {
    const { commit, alive, signal } = options
    let { cursor } = options
    // Updates that wait stay: `drop_pending_updates` would lose them.
    const cleared = await call('deleteWebhook', {}, { signal })
    if (cleared.type === 'failed') return cleared.failure
    while (!signal.aborted) {
      const offset = cursor === undefined ? {} : { offset: Number(cursor) }
      const payload = { ...offset, limit: 100, timeout: POLL_S, allowed_updates: UPDATE_KINDS }
      const polled = await call<WireUpdate[]>('getUpdates', payload, { signal, timeoutMs: POLL_TIMEOUT_MS })
      if (polled.type === 'failed') return polled.failure
      alive()
      const updates = Array.isArray(polled.result) ? polled.result : []
      if (updates.length === 0) continue
      const next = String(Math.max(...updates.map(({ update_id }) => update_id)) + 1)
      // The next poll confirms them, so they are on disk first.
      await commit(
        updates.map((update) => rawUpdateOf(update, bot!)),
        next,
      )
      cursor = next
    }
    return STOPPED
  }

  /** A placeholder becomes a document or a photo, so that sending a file may be repeated like the edit of a text. */
  async function editToFile({ messageId, file, message }: FileEdit, signal: AbortSignal): Promise<CallOutcome> {
    const type =
      PHOTOS.has(file.mediaType) && file.bytes.length <= MOST_PHOTO && !message.isPlain ? 'photo' : 'document'
    const payload = { chat_id: message.address.chatId, message_id: Number(messageId), media: { type } }
    return call('editMessageMedia', payload, { signal, file, timeoutMs: UPLOAD_TIMEOUT_MS })
  }

  return {
    capabilities: CAPABILITIES,

    async identify(signal) {
      const me = await call<{ id?: number; username?: string; first_name?: string }>('getMe', {}, { signal })
      if (me.type === 'failed') return me
      const { id, username, first_name: name = '' } = me.result
      if (id === undefined) return failed({ kind: 'unknown', detail: 'Telegram answered without a bot' })
      bot = { id: String(id), name: username ?? name }
      // Without its menu the bot works too.
      const commands = Object.entries(CHAT_COMMANDS).map(([command, description]) => ({ command, description }))
      await call('setMyCommands', { commands }, { signal })
      return { type: 'done', identity: bot }
    },

    async receive(options) {
      if (!bot) return STOPPED
      if (settings.webhookUrl === undefined) return poll(options)
      return receiveByWebhook(options, {
        settings,
        bot,
        register: (payload) => call('setWebhook', payload, { signal: options.signal }),
        kinds: UPDATE_KINDS,
      })
    },

    read: (text) => readStored(text, bot),

    async place({ address, replyTo }, signal) {
      const reply = replyTo === undefined ? {} : replyParameters(replyTo)
      const payload = { ...target(address), text: PLACEHOLDER, ...reply }
      return sentMessage(await call<{ message_id?: number }>('sendMessage', payload, { signal }))
    },

    async send({ replyTo, ...message }, signal) {
      const reply = replyTo === undefined ? {} : replyParameters(replyTo)
      const payload = { ...target(message.address), ...textOf(message), ...reply }
      return sentMessage(await call<{ message_id?: number }>('sendMessage', payload, { signal }))
    },

    async edit({ messageId, ...message }, signal) {
      if (message.file) return editToFile({ messageId, file: message.file, message }, signal)
      const payload = { chat_id: message.address.chatId, message_id: Number(messageId), ...textOf(message) }
      const edited = await call<{ message_id?: number } | true>('editMessageText', payload, { signal })
      if (edited.type === 'failed') return edited
      if (edited.result === true) return failed({ kind: 'refused', detail: 'Telegram answered without the message' })
      const isOther = (edited.result.message_id ?? Number(messageId)) !== Number(messageId)
      return isOther ? failed({ kind: 'refused', detail: 'Telegram edited another message' }) : { type: 'done' }
    },

    async acknowledgePress(pressId, text, signal) {
      return call('answerCallbackQuery', { callback_query_id: pressId, text: text.slice(0, 200) }, { signal })
    },

    async showTyping({ chatId, thread }, signal) {
      // The General topic is named here, and not when a message is sent.
      const topic = thread === undefined ? {} : { message_thread_id: Number(thread) }
      return call('sendChatAction', { chat_id: chatId, action: 'typing', ...topic }, { signal })
    },

    async download(file: Attachment, signal) {
      const found = await call<{ file_path?: string }>('getFile', { file_id: file.handle }, { signal })
      if (found.type === 'failed') return found
      const { file_path: path } = found.result
      if (!path) return failed({ kind: 'refused', detail: 'Telegram has no path for the file' })
      return readFile(`${files}/${path}`, signal)
    },

    close: async () => undefined,
  }
}

type FileEdit = { messageId: string; file: OutgoingFile; message: Pick<OutgoingText, 'address' | 'isPlain'> }

/** What is shown as a photo. One that Telegram cannot process is sent as a document. */
const PHOTOS = new Set(['image/png', 'image/jpeg', 'image/webp'])
const MOST_PHOTO = 10 * 1024 * 1024
const UPLOAD_TIMEOUT_MS = 120_000

const STOPPED: CallFailure = { kind: 'stopped', detail: 'stopped' }
const NO_TOKEN: CallFailure = {
  kind: 'unauthorized',
  detail: 'The account has no token. Set its `token` in config.yaml, or TELEGRAM_BOT_TOKEN.',
}

function readStored(text: string, bot: Bot | undefined): Incoming {
  try {
    return readUpdate(JSON.parse(text) as WireUpdate, bot)
  } catch {
    return { type: 'ignored', reason: 'unknown-kind' }
  }
}

/** The General topic of a forum has the id 1, and messages to it must not name it. */
const GENERAL = '1'

const target = ({ chatId, thread }: ChatAddress) => ({
  chat_id: chatId,
  ...defined({ message_thread_id: thread === undefined || thread === GENERAL ? undefined : Number(thread) }),
})

const replyParameters = (messageId: string) => ({
  reply_parameters: { message_id: Number(messageId), allow_sending_without_reply: true },
})

function textOf({ text, isPlain, buttons }: Omit<OutgoingText, 'address'>) {
  const content = isPlain ? { text } : { text: markdownToHtml(text, HTML), parse_mode: 'HTML' as const }
  const keyboard = buttons && {
    reply_markup: { inline_keyboard: [buttons.map(({ label, data }) => ({ text: label, callback_data: data }))] },
  }
  return { ...content, link_preview_options: { is_disabled: true }, ...keyboard }
}

/** An answer without the id of a message proves nothing. */
function sentMessage(outcome: CallOutcome<{ result: { message_id?: number } }>): CallOutcome<{ messageId: string }> {
  if (outcome.type === 'failed') return outcome
  const { message_id: id } = outcome.result
  return id === undefined
    ? failed({ kind: 'unknown', detail: 'Telegram answered without a message' })
    : { type: 'done', messageId: String(id) }
}

async function readFile(url: string, signal: AbortSignal): Promise<CallOutcome<{ bytes: Uint8Array }>> {
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(60_000)]) })
    if (!response.ok || !response.body)
      return failed({ kind: 'refused', detail: `the download answered ${response.status}` })
    const pieces: Uint8Array[] = []
    let size = 0
    for await (const piece of response.body) {
      size += piece.length
      if (size > MOST_FILE_BYTES) return failed({ kind: 'too-large', detail: 'the file has more than 20 MB' })
      pieces.push(piece)
    }
    return { type: 'done', bytes: Buffer.concat(pieces) }
  } catch (fault) {
    return failed(lostCall(fault))
  }
}
