import { defined } from '../../core/defined.ts'
import type { ReceivedFile } from '../read-form.ts'
import { parseHtml } from './html-entities.ts'
import { type SimulatedButton, type SimulatedChat, type SimulatedUser, type World, wireMessage } from './world.ts'

export type MethodAnswer = { status: number; body: Record<string, unknown>; messageId?: number }

type Payload = Record<string, unknown>
type Method = (payload: Payload, call: { world: World; bot: SimulatedUser; token: string }) => MethodAnswer

const ok = (result: unknown, messageId?: number): MethodAnswer => ({
  status: 200,
  body: { ok: true, result },
  ...defined({ messageId }),
})

export const failure = (status: number, description: string, parameters?: object): MethodAnswer => ({
  status,
  body: { ok: false, error_code: status, description, ...defined({ parameters }) },
})

const MOST_TEXT = 4_096
const PRESS_MS = 150_000
const MOST_UPLOAD = 50 * 1024 * 1024
const MOST_DOWNLOAD = 20 * 1024 * 1024

/** Methods of the Bot API that change or show something; `getUpdates` and the webhook are in the server. */
export const METHODS: Readonly<Record<string, Method>> = {
  getMe: (_, { bot }) => ok({ ...bot, can_join_groups: true, can_read_all_group_messages: false }),
  setMyCommands: () => ok(true),
  sendChatAction: (payload, { world }) => refusalFor(payload, world) ?? ok(true),

  sendMessage(payload, { world, bot }) {
    const refusal = refusalFor(payload, world)
    if (refusal) return refusal
    const content = contentOf(payload)
    if ('status' in content) return content
    const thread = payload.message_thread_id === undefined ? undefined : Number(payload.message_thread_id)
    if (thread !== undefined && (thread === 1 || world.closedThreads.has(thread)))
      return failure(400, 'Bad Request: message thread not found')
    const replyTo = (payload.reply_parameters as { message_id?: number } | undefined)?.message_id
    const chat = chatOf(Number(payload.chat_id), world)
    const message = world.newMessage({ chat, from: bot, ...content, thread, replyTo })
    return ok(wireMessage(message), message.message_id)
  },

  editMessageText(payload, { world, bot }) {
    const refusal = refusalFor(payload, world)
    if (refusal) return refusal
    const message = world.messages.find(
      (each) => each.message_id === payload.message_id && each.chat.id === Number(payload.chat_id),
    )
    if (!message) return failure(400, 'Bad Request: message to edit not found')
    if (message.from.id !== bot.id) return failure(400, "Bad Request: message can't be edited")
    const content = contentOf(payload)
    if ('status' in content) return content
    const isSame = message.text === content.text && JSON.stringify(message.buttons) === JSON.stringify(content.buttons)
    if (isSame)
      return failure(
        400,
        'Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message',
      )
    message.text = content.text
    message.buttons = content.buttons
    message.versions.push(content.text)
    world.changed()
    return ok(wireMessage(message), message.message_id)
  },

  editMessageMedia(payload, { world, bot }) {
    const refusal = refusalFor(payload, world)
    if (refusal) return refusal
    const message = world.messages.find(
      (each) => each.message_id === Number(payload.message_id) && each.chat.id === Number(payload.chat_id),
    )
    if (!message) return failure(400, 'Bad Request: message to edit not found')
    if (message.from.id !== bot.id) return failure(400, "Bad Request: message can't be edited")
    const { type, media } = payload.media as { type?: string; media?: string }
    const file = (payload.files as ReceivedFile[] | undefined)?.find(({ field }) => `attach://${field}` === media)
    if (!file) return failure(400, 'Bad Request: file not found')
    if (file.bytes.length > MOST_UPLOAD) return failure(413, 'Request Entity Too Large')
    const isImage = ['\x89PNG', '\xff\xd8\xff', 'RIFF'].some((start) =>
      Buffer.from(file.bytes.subarray(0, 4)).toString('latin1').startsWith(start),
    )
    if (type === 'photo' && !isImage) return failure(400, 'Bad Request: IMAGE_PROCESS_FAILED')
    message.text = ''
    message.file = { type: String(type), name: file.name, bytes: file.bytes }
    message.versions.push(`[${type} ${file.name}]`)
    world.changed()
    return ok(wireMessage(message), message.message_id)
  },

  answerCallbackQuery({ callback_query_id: id, text }, { world }) {
    const press = world.presses.get(String(id))
    if (!press || world.now() - press.at > PRESS_MS)
      return failure(400, 'Bad Request: query is too old and response timeout expired or query ID is invalid')
    press.text = String(text ?? '')
    world.changed()
    return ok(true)
  },

  getFile({ file_id: id }, { world }) {
    const file = world.files.get(String(id))
    if (!file) return failure(400, 'Bad Request: wrong file_id or the file is temporarily unavailable')
    if (file.bytes.length > MOST_DOWNLOAD) return failure(400, 'Bad Request: file is too big')
    return ok({ file_id: file.id, file_size: file.bytes.length, file_path: file.path })
  },
}

function refusalFor({ chat_id }: Payload, { blocked, moved, messages }: World): MethodAnswer | undefined {
  const id = Number(chat_id)
  const to = moved.get(id)
  if (to !== undefined)
    return failure(400, 'Bad Request: group chat was upgraded to a supergroup chat', { migrate_to_chat_id: to })
  if (blocked.has(id)) return failure(403, 'Forbidden: bot was blocked by the user')
  return messages.some(({ chat }) => chat.id === id || to === id) || isTarget(id, moved)
    ? undefined
    : failure(400, 'Bad Request: chat not found')
}

const isTarget = (id: number, moved: ReadonlyMap<number, number>): boolean => [...moved.values()].includes(id)

function chatOf(id: number, { messages, moved }: World): SimulatedChat {
  const known = messages.findLast(({ chat }) => chat.id === id)?.chat
  if (known) return known
  const former = [...moved].find(([, to]) => to === id)?.[0]
  const before = messages.findLast(({ chat }) => chat.id === former)?.chat
  return { ...before, id, type: id > 0 ? 'private' : 'supergroup' }
}

function contentOf(payload: Payload): { text: string; buttons: SimulatedButton[] } | MethodAnswer {
  const given = String(payload.text ?? '')
  const parsed = payload.parse_mode === 'HTML' ? parseHtml(given) : { text: given }
  if ('error' in parsed) return failure(400, `Bad Request: can't parse entities: ${parsed.error}`)
  const text = parsed.text.trim()
  if (text === '') return failure(400, 'Bad Request: message text is empty')
  if (text.length > MOST_TEXT) return failure(400, 'Bad Request: message is too long')
  const rows = (payload.reply_markup as { inline_keyboard?: SimulatedButton[][] } | undefined)?.inline_keyboard ?? []
  const buttons = rows.flat()
  if (buttons.some(({ callback_data: data }) => Buffer.byteLength(data) > 64))
    return failure(400, 'Bad Request: BUTTON_DATA_INVALID')
  return { text, buttons }
}
