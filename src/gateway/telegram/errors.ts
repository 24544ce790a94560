import { lostCallTo } from '../../core/gateway/lost-call.ts'
import type { CallFailure, CallFailureKind } from '../../core/gateway/send-plan.ts'

/** What the descriptions of the Bot API mean. The first match wins. */
const PHRASES: readonly [pattern: RegExp, kind: CallFailureKind][] = [
  [/message to edit not found|message can't be edited|MESSAGE_ID_INVALID/i, 'message-gone'],
  [/can't parse entities/i, 'bad-format'],
  [/message thread not found|TOPIC_DELETED|TOPIC_CLOSED/i, 'thread-gone'],
  [/message is too long|MESSAGE_TOO_LONG/i, 'too-long'],
  [/file is too big|Request Entity Too Large/i, 'too-large'],
  [/PHOTO_INVALID|IMAGE_PROCESS_FAILED|wrong type of the web page content|WEBPAGE_MEDIA_EMPTY/i, 'bad-format'],
  [
    /bot was blocked by the user|user is deactivated|chat not found|bot was kicked|bot is not a member|not enough rights|have no rights|CHAT_WRITE_FORBIDDEN|PEER_ID_INVALID|group chat was deleted|bot can't initiate conversation/i,
    'dead-target',
  ],
]

/** Statuses, if no phrase matches. */
const STATUSES: Readonly<Record<number, CallFailureKind>> = {
  401: 'unauthorized',
  // A token that is malformed.
  404: 'unauthorized',
  403: 'dead-target',
  409: 'conflict',
  429: 'rate-limited',
}

export type TelegramError = {
  error_code: number
  description: string
  parameters?: { retry_after?: number; migrate_to_chat_id?: number }
}

/** An answer of the Bot API that is an error. A server error may have had its effect. */
export function failureOf({ error_code: status, description: detail, parameters = {} }: TelegramError): CallFailure {
  const { retry_after: seconds, migrate_to_chat_id: movedTo } = parameters
  if (movedTo !== undefined) return { kind: 'moved', detail, movedTo: String(movedTo) }
  if (seconds !== undefined) return { kind: 'rate-limited', detail, retryAfterMs: seconds * 1_000 }
  const byPhrase = PHRASES.find(([pattern]) => pattern.test(detail))?.[1]
  const kind = byPhrase ?? STATUSES[status] ?? (status >= 500 ? 'unknown' : 'refused')
  return { kind, detail }
}

/** The edit changed nothing because the message says that already. */
export const isNotModified = ({ description }: TelegramError): boolean => /message is not modified/i.test(description)

/** A call without an answer. */
export const lostCall = (fault: unknown): CallFailure => lostCallTo('the platform', fault)
