import { chatSettingsOf } from '../core/gateway/access.ts'
import { MOST_FILE_BYTES, megabytes } from '../core/gateway/chat-file.ts'
import type { InboundRow } from '../core/gateway/inbound.ts'
import type { Attachment, Incoming } from '../core/gateway/incoming.ts'
import type { InputPart } from '../core/message.ts'
import { type FileTarget, hasWorkspace, saveReceived } from '../service/gateway/chat-files.ts'
import type { NewInput } from '../service/messages/send-message.ts'
import type { AccountDeps } from './account-deps.ts'
import { earlierMessages } from './earlier-messages.ts'

type IncomingMessage = Extract<Incoming, { type: 'message' }>
type StoredMessage = { row: InboundRow; message: IncomingMessage }

/** Names and titles are data of strangers: one short line, quoted. */
const MOST_NAME = 120

/**
 * The inputs of a run: one for each update, so that each has its otid. Text that the platform split is one input again.
 * Who said it and where is in the message, and never in the system prompt, which stays the same for the provider's cache.
 */
export async function inputsOf(
  messages: readonly StoredMessage[],
  target: FileTarget,
  deps: AccountDeps,
): Promise<NewInput[]> {
  const { row, message } = messages[0]!
  const { account } = deps.scope.lease
  const text = messages.map((each) => each.message.text).join('')
  const media: InputPart[] = []
  for (const each of messages)
    for (const [index, attachment] of each.message.attachments.entries())
      media.push(await partOf(attachment, { key: `${each.row.number}-${index + 1}`, target }, deps))
  const heads = [headerOf(message, deps), await earlierMessages(message, deps)]
  const content: InputPart[] = [
    ...heads.flatMap((head) => (head === undefined ? [] : note(head))),
    ...(text.trim() === '' ? [] : [{ type: 'text' as const, text }]),
    ...media,
  ]
  return [{ role: 'user', content, otid: `${deps.scope.settings.platform}:${account}:${row.key}` }]
}

/** Where several people share a conversation, each message says who wrote it. */
function headerOf({ chat, sender }: IncomingMessage, { scope }: AccountDeps): string | undefined {
  const routing = chatSettingsOf(scope.settings, chat)?.routing ?? scope.settings.routing
  if (chat.kind === 'private' && routing !== 'shared') return undefined
  const from = { name: line(sender.name), id: sender.id }
  const where = chat.kind === 'private' ? {} : { chat: line(chat.title ?? ''), chat_id: chat.id, thread: chat.thread }
  return `[message from ${JSON.stringify({ ...from, ...where })}]\n`
}

const line = (text: string): string => text.replaceAll(/\s+/g, ' ').slice(0, MOST_NAME).toWellFormed()

const DOWNLOAD_TRIES = 3

/** Where a file goes: the key names it among all that the account received. */
type Destination = { key: string; target: FileTarget }

async function partOf(attachment: Attachment, destination: Destination, deps: AccountDeps): Promise<InputPart> {
  const name = line(attachment.name ?? attachment.kind)
  if ((attachment.bytes ?? 0) > MOST_FILE_BYTES)
    return note(`[media unavailable: ${name} has ${megabytes(attachment.bytes!)}, and bots can read up to 20 MB]`)
  const downloaded = await download(attachment, deps)
  if ('fault' in downloaded) return note(`[media unavailable: ${name}: ${downloaded.fault}]`)
  const { bytes } = downloaded
  switch (attachment.kind) {
    case 'image':
      return {
        type: 'image',
        source: { mediaType: attachment.mediaType ?? 'image/jpeg', data: Buffer.from(bytes).toString('base64') },
      }
    case 'voice':
      return note(await transcript(attachment, bytes, deps))
    case 'file':
      return note(await fileText(attachment, { bytes, ...destination }, deps))
  }
}

async function download(attachment: Attachment, deps: AccountDeps): Promise<{ bytes: Uint8Array } | { fault: string }> {
  const { platform, signal, context } = deps
  for (let tries = 1; ; tries++) {
    const outcome = await platform.download(attachment, signal)
    if (outcome.type === 'done') return { bytes: outcome.bytes }
    const { kind, detail } = outcome.failure
    const mayPass = kind === 'unreachable' || kind === 'unknown' || kind === 'rate-limited'
    if (!mayPass || tries >= DOWNLOAD_TRIES || signal.aborted) return { fault: detail }
    await context.deps.clock.sleep(outcome.failure.retryAfterMs ?? 500 * tries, signal)
  }
}

async function transcript(attachment: Attachment, bytes: Uint8Array, deps: AccountDeps): Promise<string> {
  const seconds = attachment.seconds === undefined ? '' : ` of ${attachment.seconds} s`
  if (!deps.transcribe) return `[voice note${seconds}: no transcription is configured, so its words are not known]`
  const voice = { bytes, mediaType: attachment.mediaType ?? 'audio/ogg', name: attachment.name ?? 'voice.ogg' }
  const result = await deps.transcribe(voice, deps.signal)
  return 'text' in result
    ? `[voice note${seconds}] ${result.text}`
    : `[media unavailable: voice note${seconds}: ${result.fault}]`
}

/** A text file that is longer is shown in part. */
const MOST_FILE_TEXT = 50_000

/** The model sees the words of a text, and finds every file in its workspace if it has tools for that. */
async function fileText(
  { mediaType, name: given = 'file' }: Attachment,
  { bytes, key, target }: Destination & { bytes: Uint8Array },
  { context }: AccountDeps,
): Promise<string> {
  const name = line(given)
  const text = textOf(bytes)
  const size = `${mediaType ?? 'unknown type'}, ${megabytes(bytes.length)}`
  if (hasWorkspace(target)) {
    const saved = await saveReceived({ key, name: given, bytes }, target, context)
    if ('path' in saved && text === undefined)
      return `[file ${JSON.stringify(name)}, ${size}: saved in your workspace as ${JSON.stringify(saved.path)}]`
    if ('path' in saved)
      return shownText(`${JSON.stringify(name)}, saved in your workspace as ${JSON.stringify(saved.path)}`, text!)
    if (text === undefined) return `[media unavailable: ${name}, ${size}: ${saved.fault}]`
  }
  if (text === undefined) return `[file ${JSON.stringify(name)}, ${size}: it is not text, so it cannot be shown here]`
  return shownText(JSON.stringify(name), text)
}

function shownText(title: string, text: string): string {
  const shown = text.length > MOST_FILE_TEXT ? `${text.slice(0, MOST_FILE_TEXT).toWellFormed()}\n[… cut]` : text
  return `[file ${title}]\n${shown}\n[end of file]`
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

const note = (text: string): InputPart => ({ type: 'text', text })
