import { lostCallTo } from '../../core/gateway/lost-call.ts'
import type { CallFailure, CallFailureKind } from '../../core/gateway/send-plan.ts'

/** What the JSON error codes of Discord mean. Others are decided by their status. */
const CODES: Readonly<Record<number, CallFailureKind>> = {
  10003: 'dead-target',
  10004: 'dead-target',
  10008: 'message-gone',
  10013: 'dead-target',
  40005: 'too-large',
  50001: 'dead-target',
  50005: 'message-gone',
  50007: 'dead-target',
  50013: 'dead-target',
  50083: 'thread-gone',
}

/** An answer of the API that is an error. */
export function failureOf({
  code,
  status,
  message,
}: {
  code: number | string
  status: number
  message: string
}): CallFailure {
  if (status === 401) return { kind: 'unauthorized', detail: 'Discord refuses the token (401: Unauthorized)' }
  if (/BASE_TYPE_MAX_LENGTH/.test(message)) return { kind: 'too-long', detail: message }
  return { kind: CODES[Number(code)] ?? 'refused', detail: `${message} (${code})` }
}

/** A status without an answer of the API. */
export const failureOfStatus = (status: number): CallFailure => ({
  kind: status >= 500 ? 'unknown' : status === 413 ? 'too-large' : 'refused',
  detail: `Discord answered ${status}`,
})

/** Why the gateway of Discord closed a connection, where a person has to act. */
const CLOSE_CODES: Readonly<Record<number, string>> = {
  4004: 'Discord refuses the token. Set the `token` of the account in config.yaml, or DISCORD_BOT_TOKEN.',
  4010: 'Discord refuses the shard of the bot',
  4011: 'The bot is in too many servers for one connection',
  4013: 'Discord does not know the intents',
  4014:
    'Discord refuses the intents. Enable "Message Content Intent" for the bot at ' +
    'https://discord.com/developers/applications, under Bot.',
}

export function failureOfClose(code: number): CallFailure | undefined {
  const detail = CLOSE_CODES[code]
  return detail === undefined ? undefined : { kind: 'unauthorized', detail }
}

export const NO_CONTENT_INTENT: CallFailure = {
  kind: 'unauthorized',
  detail:
    'The bot cannot read messages in channels. Enable "Message Content Intent" for it at ' +
    'https://discord.com/developers/applications, under Bot.',
}

/** A call without an answer. */
export const lostCall = (fault: unknown): CallFailure => lostCallTo('Discord', fault)
