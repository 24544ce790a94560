import { createHash } from 'node:crypto'
import type { CallFailure } from '../../core/gateway/send-plan.ts'
import type { ChatAddress } from '../../core/gateway/session.ts'
import type { AccountSettings } from '../../core/gateway/settings.ts'
import type { BotIdentity, CallOutcome, Capabilities, PlatformConnection } from '../../ports/platform.ts'
import { signOf } from './buttons.ts'
import { editedContent, KEY, newContent } from './content.ts'
import { NO_HOMESERVER, NO_TOKEN } from './errors.ts'
import { readHistory } from './history.ts'
import { matrixTransport } from './http.ts'
import { type Bot, ENCRYPTED_NOTE, readStored } from './read-event.ts'
import { receiveEvents } from './receive.ts'
import { newRooms } from './rooms.ts'
import { failed, type MatrixTransport, pathOf, roomPath } from './transport.ts'

/** Each homeserver has its own rates; those of Synapse are low for accounts that were not exempted. */
const CAPABILITIES: Capabilities = {
  sends: 'idempotent',
  edits: true,
  // Of the 65,536 bytes of an event, with the formatted text beside the plain one.
  maxText: 6_000,
  notifiesOfEdits: false,
  buttons: false,
  // Clients take what begins with `/` for their own commands.
  commandPrefix: '!',
  threadsAreConversations: true,
  pace: { privateMs: 1_000, groupMs: 1_000, burst: 4, groupBurst: 4, perSecond: 10, interimPerMinute: 10 },
}

/** Matrix by the client-server API of a homeserver: no address has to be public. */
export async function openMatrix(settings: AccountSettings, known?: BotIdentity): Promise<PlatformConnection> {
  const { token, apiRoot } = settings
  if (token === undefined || apiRoot === undefined)
    return matrixOver(refusing(token === undefined ? NO_TOKEN : NO_HOMESERVER), { settings, known })
  return matrixOver(matrixTransport({ token, apiRoot }), { settings, known })
}

const refusing = (failure: CallFailure): MatrixTransport => ({
  call: async () => failed(failure),
  download: async () => failed(failure),
})

type MatrixOptions = {
  settings: Pick<AccountSettings, 'access' | 'allow' | 'groups'>
  known: BotIdentity | undefined
}

/** The platform over any transport. */
export function matrixOver(transport: MatrixTransport, { settings, known }: MatrixOptions): PlatformConnection {
  let bot: Bot | undefined = known
  const rooms = newRooms(transport)
  const { call } = transport
  let interim = 0
  /** Keys of sends that are repeated: their transaction may return an event of before, with the words of then. */
  const repeated = new Set<string>()

  /** The room of a chat. A person is one, too: the room with them alone. */
  async function roomOf({ chatId }: ChatAddress, signal: AbortSignal): Promise<CallOutcome<{ room: string }>> {
    if (!chatId.startsWith('@') || !bot) return { type: 'done', room: chatId }
    return rooms.directRoom(bot.id, chatId, signal)
  }

  /** The room, if words may be sent there: they would be readable for the homeservers of an encrypted room. */
  async function openRoom(address: ChatAddress, text: string, signal: AbortSignal) {
    const found = await roomOf(address, signal)
    if (found.type === 'failed' || text === ENCRYPTED_NOTE) return found
    const about = await rooms.about(found.room, signal)
    if (about.type === 'failed') return about
    return about.room.isEncrypted ? failed(ENCRYPTED_ROOM) : found
  }

  /** A repetition with the same transaction makes no second event. */
  const put = (
    room: string,
    { type, of, content }: { type: string; of: string; content: object },
    signal: AbortSignal,
  ) =>
    call<{ event_id?: string }>(
      { method: 'PUT', path: roomPath(room, 'send', type, transactionOf(of)), body: content },
      signal,
    )

  /** So that a tap is enough. Without them people can add the reaction themselves, or write the words. */
  async function offerReactions(room: string, messageId: string, labels: readonly string[], signal: AbortSignal) {
    for (const label of labels) {
      const relation = { rel_type: 'm.annotation', event_id: messageId, key: signOf(label) }
      const content = { 'm.relates_to': relation }
      await put(room, { type: 'm.reaction', of: `${messageId}/${relation.key}`, content }, signal)
    }
  }

  return {
    capabilities: CAPABILITIES,

    async identify(signal) {
      const me = await call<{ user_id?: string }>({ method: 'GET', path: '/v3/account/whoami' }, signal)
      if (me.type === 'failed') return me
      const { user_id: id } = me.result
      if (id === undefined) return failed({ kind: 'unknown', detail: 'the homeserver answered without a user' })
      bot = { id, name: id.slice(1) }
      return { type: 'done', identity: bot }
    },

    async receive(options) {
      if (!bot) return { kind: 'stopped', detail: 'stopped' }
      return receiveEvents(options, { transport, rooms, bot, settings })
    },

    read: (raw) => readStored(raw, bot),

    // A send can be repeated, so no message needs a placeholder.
    place: async () => failed({ kind: 'refused', detail: 'Matrix needs no placeholder' }),

    async send({ address, key, replyTo, ...message }, signal) {
      const to = await openRoom(address, message.text, signal)
      if (to.type === 'failed') return to
      const { room } = to
      const content = newContent(message, replyTo === undefined ? { key, address } : { key, address, replyTo })
      const sent = await put(room, { type: 'm.room.message', of: `${key}/${message.isPlain}`, content }, signal)
      if (sent.type === 'failed') return sent
      const { event_id: messageId } = sent.result
      if (messageId === undefined) return failed(NO_EVENT)
      await offerReactions(
        room,
        messageId,
        (message.buttons ?? []).map(({ label }) => label),
        signal,
      )
      return { type: 'done', messageId, isEarlier: repeated.delete(key) }
    },

    async edit({ address, messageId, key, ...message }, signal) {
      const to = await openRoom(address, message.text, signal)
      if (to.type === 'failed') return to
      interim += 1
      const of = `${messageId}/${key ?? `interim ${interim} ${message.text}`}/${message.isPlain}`
      const content = editedContent(message, messageId)
      const edited = await put(to.room, { type: 'm.room.message', of, content }, signal)
      return edited.type === 'done' && edited.result.event_id === undefined ? failed(NO_EVENT) : edited
    },

    /** A homeserver forgets transactions after a while, and knows them by the session. The key in the event stays. */
    async find({ key, address, since }, signal) {
      const to = await roomOf(address, signal)
      if (to.type === 'failed') return to
      let messageId: string | undefined
      const range = { room: to.room, dir: 'b' as const }
      const failure = await readHistory(range, { transport, signal }, async ({ events }) => {
        const found = events.find(({ sender, content = {} }) => sender === bot?.id && content[KEY] === key)
        messageId = found?.event_id
        const oldest = events.at(-1)?.origin_server_ts ?? 0
        return messageId !== undefined || oldest < since - FIND_MARGIN_MS ? 'enough' : 'more'
      })
      if (failure) return failed(failure)
      if (repeated.size >= MOST_REPEATED) repeated.clear()
      if (messageId === undefined) repeated.add(key)
      return messageId === undefined ? { type: 'done' } : { type: 'done', messageId }
    },

    // The message says what was decided.
    acknowledgePress: async () => ({ type: 'done' }),

    async showTyping(address, signal) {
      const to = await roomOf(address, signal)
      if (to.type === 'failed' || !bot) return to
      const path = roomPath(to.room, 'typing', bot.id)
      return call({ method: 'PUT', path, body: { typing: true, timeout: TYPING_MS } }, signal)
    },

    async download({ handle }, signal) {
      const [, server, id] = /^mxc:\/\/([^/]+)\/([^/?#]+)$/.exec(handle) ?? []
      if (server === undefined || id === undefined)
        return failed({ kind: 'refused', detail: 'the file has no address at a homeserver' })
      const read = await transport.download(pathOf('v1', 'media', 'download', server, id), signal)
      return read.type === 'failed' && read.failure.kind === 'dead-target'
        ? failed({ kind: 'refused', detail: 'the homeserver does not have the file' })
        : read
    },

    close: async () => undefined,
  }
}

const TYPING_MS = 6_000
const MOST_REPEATED = 1_000
/** Clocks differ. */
const FIND_MARGIN_MS = 330_000

/** It answered as if it had worked, and did nothing. */
const NO_EVENT: CallFailure = { kind: 'unknown', detail: 'the homeserver answered without an event' }

const ENCRYPTED_ROOM: CallFailure = {
  kind: 'dead-target',
  detail: 'the room is end-to-end encrypted, and Holdfast writes nothing readable there',
}

const transactionOf = (of: string): string => createHash('sha256').update(of).digest('base64url').slice(0, 32)
