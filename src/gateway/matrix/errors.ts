import { defined } from '../../core/defined.ts'
import { lostCallTo } from '../../core/gateway/lost-call.ts'
import type { CallFailure, CallFailureKind } from '../../core/gateway/send-plan.ts'

/** What the error codes of Matrix mean. Others are decided by their status. */
const CODES: Readonly<Record<string, CallFailureKind>> = {
  M_UNKNOWN_TOKEN: 'unauthorized',
  M_MISSING_TOKEN: 'unauthorized',
  M_USER_DEACTIVATED: 'unauthorized',
  M_USER_LOCKED: 'unauthorized',
  M_USER_SUSPENDED: 'unauthorized',
  M_CONSENT_NOT_GIVEN: 'unauthorized',
  // The bot is not in the room, was banned, or may not speak there.
  M_FORBIDDEN: 'dead-target',
  M_GUEST_ACCESS_FORBIDDEN: 'dead-target',
  M_NOT_FOUND: 'dead-target',
  M_LIMIT_EXCEEDED: 'rate-limited',
  M_TOO_LARGE: 'too-long',
}

const WORDS: Readonly<Record<string, string>> = {
  M_UNKNOWN_TOKEN:
    'The homeserver does not know the access token: it expired, or its session was logged out. ' +
    'Log in as the bot again, and set the `token` of the account in config.yaml, or MATRIX_ACCESS_TOKEN.',
  M_MISSING_TOKEN: 'The homeserver wants an access token. Set the `token` of the account, or MATRIX_ACCESS_TOKEN.',
  M_USER_DEACTIVATED: 'The account of the bot was deactivated at its homeserver.',
  M_USER_LOCKED: 'The account of the bot is locked at its homeserver.',
  M_USER_SUSPENDED: 'The account of the bot is suspended at its homeserver.',
  M_CONSENT_NOT_GIVEN: 'The homeserver wants the bot to accept its terms: log in as the bot once, in a browser.',
}

export type MatrixError = { errcode?: unknown; error?: unknown; retry_after_ms?: unknown; soft_logout?: unknown }

type Answer = { status: number; body: MatrixError | undefined; retryAfter: string | null }

/** An answer of the homeserver that is an error. */
export function failureOf({ status, body, retryAfter }: Answer): CallFailure {
  const code = typeof body?.errcode === 'string' ? body.errcode : undefined
  if (status === 429 || code === 'M_LIMIT_EXCEEDED')
    return { kind: 'rate-limited', detail: 'rate limited', ...defined({ retryAfterMs: waitOf(body, retryAfter) }) }
  if (code === undefined) return failureOfStatus(status)
  const said = typeof body?.error === 'string' ? `${body.error} (${code})` : code
  const kind = CODES[code] ?? (status === 401 ? 'unauthorized' : status >= 500 ? 'unknown' : 'refused')
  return { kind, detail: WORDS[code] ?? said }
}

function waitOf(body: MatrixError | undefined, header: string | null): number | undefined {
  const asked = body?.retry_after_ms
  if (typeof asked === 'number' && asked >= 0) return Math.max(asked, 100)
  const seconds = Number(header)
  return header !== null && Number.isFinite(seconds) ? Math.max(seconds * 1_000, 100) : undefined
}

/** Not from a homeserver: from a proxy before it, or from a server of another kind. */
function failureOfStatus(status: number): CallFailure {
  if (status >= 500) return { kind: 'unknown', detail: `the homeserver answered ${status}` }
  if (status >= 300 && status < 400)
    return {
      kind: 'refused',
      detail: `\`api_root\` answered with a redirection (${status}): set it to where that leads`,
    }
  return {
    kind: 'refused',
    detail: `\`api_root\` answered ${status} like no Matrix homeserver. Is it the address of one?`,
  }
}

/** A request without an answer. */
export const lostCall = (fault: unknown): CallFailure => lostCallTo('the homeserver', fault)

export const NO_TOKEN: CallFailure = {
  kind: 'unauthorized',
  detail: 'The account has no access token. Set its `token` in config.yaml, or MATRIX_ACCESS_TOKEN.',
}
export const NO_HOMESERVER: CallFailure = {
  kind: 'unauthorized',
  detail:
    'The account has no homeserver. Set its `api_root` in config.yaml, or MATRIX_HOMESERVER, such as https://matrix.example.org.',
}
