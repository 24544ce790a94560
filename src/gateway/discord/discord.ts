import { createHash } from 'node:crypto'
import { defined } from '../../core/defined.ts'
import { CHAT_COMMANDS } from '../../core/gateway/chat-command.ts'
import type { CallFailure } from '../../core/gateway/send-plan.ts'
import type { ChatAddress } from '../../core/gateway/session.ts'
import type { AccountSettings } from '../../core/gateway/settings.ts'
import type { BotIdentity, CallOutcome, Capabilities, OutgoingText, PlatformConnection } from '../../ports/platform.ts'
import { newDirectory } from './directory.ts'
import { NO_CONTENT_INTENT } from './errors.ts'
import { type Bot, nameOf, plainText, readStored, type WireMessage } from './read-event.ts'
import { receiveEvents } from './receive.ts'
import { snowflakeAt } from './snowflake.ts'
import { type DiscordTransport, failed } from './transport.ts'

/** About five calls in five seconds in a channel, 50 a second in all. With a margin. */
const CAPABILITIES: Capabilities = {
  sends: 'readable',
  edits: true,
  // 2,000 are possible.
  maxText: 1_900,
  // In servers without boosts.
  maxFileBytes: 10 * 1024 * 1024,
  notifiesOfEdits: false,
  buttons: true,
  commandPrefix: '/',
  threadsAreConversations: true,
  pace: { privateMs: 1_200, groupMs: 1_200, burst: 3, groupBurst: 3, perSecond: 30 },
}

const PLACEHOLDER = '…'

/** Discord by its gateway: no address has to be public. */
export async function openDiscord(settings: AccountSettings, known?: BotIdentity): Promise<PlatformConnection> {
  const { token, apiRoot } = settings
  if (token === undefined) return discordOver(refusing(NO_TOKEN), { settings, known })
  // Not with this file: the lab has another transport.
  const { discordTransport } = await import('./libraries.ts')
  return discordOver(discordTransport({ token, apiRoot }), { settings, known })
}

const NO_TOKEN: CallFailure = {
  kind: 'unauthorized',
  detail: 'The account has no token. Set its `token` in config.yaml, or DISCORD_BOT_TOKEN.',
}

const refusing = (failure: CallFailure): DiscordTransport => ({
  call: async () => failed(failure),
  connect: async () => failure,
  download: async () => failed(failure),
})

type DiscordOptions = { settings: Pick<AccountSettings, 'groups'>; known: BotIdentity | undefined }

/** GATEWAY_MESSAGE_CONTENT, and its form for bots in few servers. */
const CONTENT_FLAGS = (1 << 18) | (1 << 19)

/** The platform over any transport: the lab has one with virtual time and faults. */
export function discordOver(transport: DiscordTransport, { settings, known }: DiscordOptions): PlatformConnection {
  let bot: Bot | undefined = known
  const directory = newDirectory(transport)
  const { call } = transport

  /** A thread is a channel, and a private chat is one that has to be opened. */
  async function channelOf({ chatId, thread, isPrivate }: ChatAddress, signal: AbortSignal) {
    if (thread !== undefined) return { type: 'done' as const, channel: thread }
    return isPrivate ? directory.directChannel(chatId, signal) : { type: 'done' as const, channel: chatId }
  }

  async function edit(
    { address, messageId, ...message }: OutgoingText & { messageId: string },
    signal: AbortSignal,
  ): Promise<CallOutcome> {
    const to = await channelOf(address, signal)
    if (to.type === 'failed') return to
    const path = `/channels/${to.channel}/messages/${messageId}`
    const edited = await call<{ id?: string }>({ method: 'PATCH', path, body: contentOf(message) }, signal)
    if (edited.type === 'failed' || edited.result.id === messageId) return edited
    return failed({ kind: 'refused', detail: 'Discord answered without the message' })
  }

  return {
    capabilities: CAPABILITIES,

    async identify(signal) {
      const me = await call<{ id?: string; username?: string }>({ method: 'GET', path: '/users/@me' }, signal)
      if (me.type === 'failed') return me
      const { id, username } = me.result
      if (id === undefined) return failed({ kind: 'unknown', detail: 'Discord answered without a user' })
      const app = await call<{ id?: string; flags?: number }>({ method: 'GET', path: '/applications/@me' }, signal)
      if (app.type === 'failed') return app
      if (((app.result.flags ?? 0) & CONTENT_FLAGS) === 0) return failed(NO_CONTENT_INTENT)
      bot = { id, name: username ?? id }
      // Without its menu the bot works too. The same list again changes nothing.
      const path = `/applications/${app.result.id ?? id}/commands`
      await call({ method: 'PUT', path, body: COMMAND_MENU }, signal)
      return { type: 'done', identity: bot }
    },

    async receive(options) {
      if (!bot) return { kind: 'stopped', detail: 'stopped' }
      return receiveEvents(options, { transport, directory, bot, groups: Object.keys(settings.groups) })
    },

    read: (raw) => readStored(raw, bot),

    // A send can be repeated, so no message needs a placeholder.
    place: async () => failed({ kind: 'refused', detail: 'Discord needs no placeholder' }),

    async send({ address, key, replyTo, ...message }, signal) {
      const to = await channelOf(address, signal)
      if (to.type === 'failed') return to
      const reference = replyTo && { message_id: replyTo, fail_if_not_exists: false }
      const body = {
        ...contentOf(message),
        nonce: nonceOf(key),
        enforce_nonce: true,
        ...defined({ message_reference: reference || undefined }),
      }
      const path = `/channels/${to.channel}/messages`
      const { file } = message
      const request = { method: 'POST' as const, path, body, ...defined({ file }) }
      const posted = await call<{ id?: string; content?: string }>(request, signal)
      if (posted.type === 'failed') return posted
      const { id, content } = posted.result
      return id === undefined
        ? failed({ kind: 'unknown', detail: 'Discord answered without a message' })
        : // For a nonce that it knows, Discord answers with the message of then.
          { type: 'done', messageId: id, isEarlier: content !== undefined && content.trim() !== body.content.trim() }
    },

    edit,

    /**
     * Discord recognizes a repeated nonce for some minutes only. Later the message is looked for by its nonce or its words,
     * among those that are no other message of ours.
     */
    async find({ key, address, text, file, since, isTaken }, signal) {
      const to = await channelOf(address, signal)
      if (to.type === 'failed') return to
      const shown = text === '' ? PLACEHOLDER : text
      let placeholder: string | undefined
      for (let after = snowflakeAt(since - FIND_MARGIN_MS); ; ) {
        const query = { after, limit: String(PAGE) }
        const path = `/channels/${to.channel}/messages`
        const read = await call<WireSent[]>({ method: 'GET', path, query }, signal)
        if (read.type === 'failed') return read
        const messages = read.result.toSorted((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1))
        const own = messages.filter(({ author }) => author?.id === bot?.id)
        const byNonce = own.find(({ nonce }) => nonce !== undefined && String(nonce) === nonceOf(key))
        const found = byNonce ?? own.find(({ id, content }) => content === shown && !isTaken(id))
        if (found) return { type: 'done', messageId: found.id }
        // The text may have been a placeholder when it was sent.
        if (file === undefined)
          placeholder ??= own.find(({ id, content }) => content === PLACEHOLDER && !isTaken(id))?.id
        if (messages.length < PAGE) return { type: 'done', ...defined({ messageId: placeholder }) }
        after = messages.at(-1)!.id
      }
    },

    async earlier({ address, before, limit }, signal) {
      const path = `/channels/${address.thread}/messages`
      const query = { before, limit: String(limit) }
      const read = await call<WireMessage[]>({ method: 'GET', path, query }, signal)
      if (read.type === 'failed') return read
      const said = read.result.toSorted((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1))
      const messages = said.flatMap((message) => {
        const text = plainText(message, bot)
        const { author } = message
        return text === '' ? [] : [{ from: !author || author.id === bot?.id ? undefined : nameOf(author), text }]
      })
      return { type: 'done', messages }
    },

    /** The press was deferred when it arrived. After 15 minutes nothing can be said to it, and the message shows what was decided. */
    async acknowledgePress(pressId, text, signal) {
      if (text === '') return { type: 'done' }
      const [application, token] = pressId.split('|')
      const body = { content: text, flags: EPHEMERAL }
      return call({ method: 'POST', path: `/webhooks/${application}/${token}`, body }, signal)
    },

    async showTyping(address, signal) {
      const to = await channelOf(address, signal)
      return to.type === 'failed' ? to : call({ method: 'POST', path: `/channels/${to.channel}/typing` }, signal)
    },

    download: (file, signal) => transport.download(file.handle, signal),

    close: async () => undefined,
  }
}

type WireSent = { id: string; author?: { id?: string }; content?: string; nonce?: string | number }

const PAGE = 100
/** Clocks differ. */
const FIND_MARGIN_MS = 60_000
const EPHEMERAL = 64
const SUPPRESS_EMBEDS = 4

/** At most 25 characters. */
const nonceOf = (key: string): string => createHash('sha256').update(key).digest('base64url').slice(0, 24)

const TEXT_OPTION = { type: 3, name: 'value', description: 'What to set', required: false }
const WITH_VALUE = new Set(['model', 'reasoning', 'queue'])

const COMMAND_MENU = Object.entries(CHAT_COMMANDS).map(([name, description]) => ({
  type: 1,
  name,
  description: description.slice(0, 100),
  ...defined({ options: WITH_VALUE.has(name) ? [TEXT_OPTION] : undefined }),
}))

/** Always with components: an edit without them would keep the former buttons. No text of a model notifies people. */
function contentOf({ text, buttons = [] }: Omit<OutgoingText, 'address'>) {
  const components = buttons.map(({ label, data }, index) => ({
    type: 2,
    style: index === 0 ? 3 : 4,
    label,
    custom_id: data,
  }))
  return {
    content: text === '' ? PLACEHOLDER : text,
    components: components.length === 0 ? [] : [{ type: 1, components }],
    allowed_mentions: { parse: [] },
    flags: SUPPRESS_EMBEDS,
  }
}
