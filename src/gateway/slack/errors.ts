import { lostCallTo } from '../../core/gateway/lost-call.ts'
import type { CallFailure, CallFailureKind } from '../../core/gateway/send-plan.ts'

/** What the error codes of the Web API mean. Others are `refused`. */
const CODES: Readonly<Record<string, CallFailureKind>> = {
  invalid_auth: 'unauthorized',
  not_authed: 'unauthorized',
  account_inactive: 'unauthorized',
  token_revoked: 'unauthorized',
  token_expired: 'unauthorized',
  not_allowed_token_type: 'unauthorized',
  channel_not_found: 'dead-target',
  not_in_channel: 'dead-target',
  is_archived: 'dead-target',
  user_not_found: 'dead-target',
  user_disabled: 'dead-target',
  cannot_dm_bot: 'dead-target',
  restricted_action: 'dead-target',
  message_not_found: 'message-gone',
  cant_update_message: 'message-gone',
  edit_window_closed: 'message-gone',
  thread_not_found: 'thread-gone',
  msg_too_long: 'too-long',
  invalid_blocks: 'bad-format',
  invalid_blocks_format: 'bad-format',
  ratelimited: 'rate-limited',
  // Slack did not finish, and may have done it.
  internal_error: 'unknown',
  fatal_error: 'unknown',
  service_unavailable: 'unknown',
  request_timeout: 'unknown',
}

/** An answer of the Web API that is an error. */
export function failureOf({ error, needed }: { error: string; needed?: string }): CallFailure {
  const kind = CODES[error] ?? 'refused'
  const detail = needed ? `${error}: the app needs the scope ${needed}. Add it and install the app again.` : error
  return { kind, detail }
}

/** An HTTP status without an answer of the Web API. */
export const failureOfStatus = (status: number, text: string): CallFailure => ({
  kind: status >= 500 ? 'unknown' : 'refused',
  detail: `Slack answered ${status} ${text}`.trim(),
})

/** A call without an answer. */
export const lostCall = (fault: unknown): CallFailure => lostCallTo('Slack', fault)
