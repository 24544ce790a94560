import { defined } from '../../core/defined.ts'
import type { ChatAddress } from '../../core/gateway/session.ts'
import type { OutgoingText } from '../../ports/platform.ts'
import { BUTTONS, buttonsOf } from './buttons.ts'
import { formattedBody } from './formatted-body.ts'

/** The key of the outbox in the event: by it a message is found again, however old it is. */
export const KEY = 'dev.holdfast.key'

const PLACEHOLDER = '…'
/** For clients that do not know edits. */
const MOST_FALLBACK = 500
/** An event has 65,536 bytes at most, with what the homeserver adds. */
const MOST_BYTES = 56_000

type Words = Omit<OutgoingText, 'address'>

const shownText = ({ text }: Pick<Words, 'text'>): string => (text === '' ? PLACEHOLDER : text)

/** No text of a model notifies people: an empty list of mentions says that there are none. */
function wordsOf(message: Words) {
  const body = shownText(message)
  const html = message.isPlain || message.text === '' ? undefined : formattedBody(body)
  const bare = { msgtype: 'm.text', body, 'm.mentions': {} }
  if (html === undefined) return bare
  const formatted = { ...bare, format: 'org.matrix.custom.html', formatted_body: html }
  return Buffer.byteLength(JSON.stringify(formatted)) > MOST_BYTES ? bare : formatted
}

export function newContent(
  message: Words,
  { key, address, replyTo }: { key: string; address: ChatAddress; replyTo?: string },
) {
  const { buttons = [] } = message
  return {
    ...wordsOf(message),
    [KEY]: key,
    ...defined({
      [BUTTONS]: buttons.length === 0 ? undefined : buttonsOf(buttons),
      'm.relates_to': relationTo(address, replyTo),
    }),
  }
}

function relationTo({ thread }: ChatAddress, replyTo: string | undefined) {
  if (thread !== undefined)
    // The last part is for clients that do not know threads.
    return { rel_type: 'm.thread', event_id: thread, is_falling_back: true, 'm.in_reply_to': { event_id: thread } }
  return replyTo === undefined ? undefined : { 'm.in_reply_to': { event_id: replyTo } }
}

export function editedContent(message: Words, messageId: string) {
  const shown = shownText(message)
  const fallback = shown.length > MOST_FALLBACK ? `${shown.slice(0, MOST_FALLBACK).toWellFormed()}…` : shown
  return {
    msgtype: 'm.text',
    body: `* ${fallback}`,
    'm.mentions': {},
    'm.new_content': wordsOf(message),
    'm.relates_to': { rel_type: 'm.replace', event_id: messageId },
  }
}
