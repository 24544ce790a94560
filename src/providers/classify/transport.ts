import { defined } from '../../core/defined.ts'
import type { Failure, FailureKind } from '../../core/failure.ts'
import { oneLine } from './readable-detail.ts'

export type TransportPhase = 'connect' | 'first-byte' | 'between-chunks' | 'body'

const MAX_CAUSE_DEPTH = 5

/** Classifies a connection error by the phase of the exchange. */
export function classifyTransport(error: unknown, phase: TransportPhase): Failure {
  const causes = causesOf(error, MAX_CAUSE_DEPTH)
  const code =
    causes.map(({ code }) => code).find((code) => code !== undefined && Object.hasOwn(SIGNALS, code)) ??
    firstCode(causes)
  const signal = code !== undefined && Object.hasOwn(SIGNALS, code) ? SIGNALS[code]! : 'broken'
  const isLate = causes.some(({ name }) => name === 'TimeoutError')
  const kind = KINDS[signal === 'broken' && isLate ? 'late' : signal][phase]
  return {
    kind,
    detail: detailOf(causes, code, phase),
    ...defined({ code, mayHaveBeenAccepted: wasSent(signal, phase) ? true : undefined }),
  }
}

/** Groups of Node and undici codes. `late` is a missed deadline, `broken` a connection that ended. */
type TransportSignal = 'no-route' | 'distrust' | 'no-connection-in-time' | 'late' | 'broken'

const KINDS: Record<TransportSignal, Record<TransportPhase, FailureKind>> = {
  'no-route': inEveryPhase('unreachable'),
  distrust: inEveryPhase('certificate-rejected'),
  'no-connection-in-time': inEveryPhase('unreachable'),
  late: { connect: 'unreachable', 'first-byte': 'timeout', 'between-chunks': 'stalled', body: 'stalled' },
  broken: { connect: 'unreachable', 'first-byte': 'unreachable', 'between-chunks': 'cut-off', body: 'cut-off' },
}

const NEVER_SENT: readonly TransportSignal[] = ['no-route', 'distrust', 'no-connection-in-time']

const SIGNALS: Readonly<Record<string, TransportSignal>> = {
  ECONNREFUSED: 'no-route',
  ENOTFOUND: 'no-route',
  EAI_AGAIN: 'no-route',
  EAI_FAIL: 'no-route',
  EHOSTUNREACH: 'no-route',
  EHOSTDOWN: 'no-route',
  ENETUNREACH: 'no-route',
  ENETDOWN: 'no-route',
  EADDRNOTAVAIL: 'no-route',
  ERR_INVALID_URL: 'no-route',
  UND_ERR_CONNECT_TIMEOUT: 'no-connection-in-time',
  UND_ERR_HEADERS_TIMEOUT: 'late',
  UND_ERR_BODY_TIMEOUT: 'late',
  ETIMEDOUT: 'late',
  ESOCKETTIMEDOUT: 'late',
  UND_ERR_SOCKET: 'broken',
  UND_ERR_CLOSED: 'broken',
  UND_ERR_DESTROYED: 'broken',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'broken',
  ECONNRESET: 'broken',
  ECONNABORTED: 'broken',
  EPIPE: 'broken',
  EPROTO: 'broken',
  CERT_HAS_EXPIRED: 'distrust',
  CERT_NOT_YET_VALID: 'distrust',
  CERT_REVOKED: 'distrust',
  CERT_REJECTED: 'distrust',
  CERT_UNTRUSTED: 'distrust',
  CERT_SIGNATURE_FAILURE: 'distrust',
  CERT_CHAIN_TOO_LONG: 'distrust',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'distrust',
  SELF_SIGNED_CERT_IN_CHAIN: 'distrust',
  UNABLE_TO_GET_ISSUER_CERT: 'distrust',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'distrust',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'distrust',
  UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY: 'distrust',
  UNABLE_TO_DECRYPT_CERT_SIGNATURE: 'distrust',
  ERR_TLS_CERT_ALTNAME_INVALID: 'distrust',
  HOSTNAME_MISMATCH: 'distrust',
  INVALID_CA: 'distrust',
  INVALID_PURPOSE: 'distrust',
  PATH_LENGTH_EXCEEDED: 'distrust',
}

type Cause = { name?: string; code?: string; message?: string }

/** The error, its causes, and the members of an AggregateError (one attempt per address). */
function causesOf(error: unknown, depth: number): Cause[] {
  if (depth < 0 || error === undefined || error === null) return []
  if (typeof error !== 'object') return [{ message: textIn(error) }]
  const { name, code, message, cause, errors } = fieldsOf(error)
  const members = Array.isArray(errors) ? errors.slice(0, 8) : []
  return [
    { ...textField('name', name), ...textField('code', code), ...textField('message', message) },
    ...[cause, ...members].flatMap((inner) => causesOf(inner, depth - 1)),
  ]
}

function fieldsOf(error: object): Record<'name' | 'code' | 'message' | 'cause' | 'errors', unknown> {
  const read = (key: string): unknown => {
    try {
      return Reflect.get(error, key)
    } catch {
      // A throwing getter says nothing about the connection.
      return undefined
    }
  }
  return {
    name: read('name'),
    code: read('code'),
    message: read('message'),
    cause: read('cause'),
    errors: read('errors'),
  }
}

const textField = (key: keyof Cause, value: unknown): Cause =>
  typeof value === 'string' && value ? { [key]: value } : {}

const textIn = (value: unknown): string => (typeof value === 'symbol' ? 'a symbol' : String(value))

const firstCode = (causes: readonly Cause[]): string | undefined =>
  causes.map(({ code }) => code).findLast((code) => code !== undefined && /^[A-Z][A-Z0-9_]{2,60}$/.test(code))

const wasSent = (signal: TransportSignal, phase: TransportPhase): boolean =>
  phase !== 'connect' && !NEVER_SENT.includes(signal)

const PHASES: Record<TransportPhase, string> = {
  connect: 'while connecting',
  'first-byte': 'before the first byte',
  'between-chunks': 'in mid-answer',
  body: 'while the body was read',
}

function detailOf(causes: readonly Cause[], code: string | undefined, phase: TransportPhase): string {
  // The innermost message is specific; the outer `fetch failed` is not.
  const message = causes.map(({ message }) => message).findLast((message) => message !== undefined && message !== '')
  const words = [code, message].filter((word, index, all) => word && !(index === 0 && all[1]?.includes(word)))
  return oneLine(`${words.join(': ') || 'The connection failed'} (${PHASES[phase]})`)
}

function inEveryPhase(kind: FailureKind): Record<TransportPhase, FailureKind> {
  return { connect: kind, 'first-byte': kind, 'between-chunks': kind, body: kind }
}
