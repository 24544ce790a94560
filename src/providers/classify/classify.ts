import { defined } from '../../core/defined.ts'
import type { Failure, FailureKind } from '../../core/failure.ts'
import type { Refusal } from '../wire/dialect.ts'
import { CODES_WITHOUT_STATUS, DECISIVE_CODES, GENERAL_CODES } from './codes.ts'
import { type ErrorBody, readErrorBody } from './error-body.ts'
import { matchesPhrase, type RefusalText } from './phrase.ts'
import { PHRASES } from './phrases.ts'
import { readableDetail } from './readable-detail.ts'
import { maskKeys } from './secrets.ts'
import { statedSizes } from './stated-sizes.ts'
import { statedWait } from './stated-wait.ts'
import { kindOfStatus, MAY_HAVE_BEEN_ACCEPTED } from './statuses.ts'

export { classifyTransport, type TransportPhase } from './transport.ts'

/** Classifies a failed response. Never throws, for any body. */
export function classify(response: Refusal): Failure {
  const headers = lowerCased(response.headers)
  const body = readErrorBody(response.body)
  const status = statusOf(response.status, body)
  const read = readKind({ text: searchableText(body), status, body }, response.status)
  const { kind, sizes } = statedSizes(read.kind, body)
  const retryAfterMs = statedWait(kind, { headers, body, at: response.at ?? dateOf(headers) })
  const code = read.code ?? body.codes[0]
  const requestId = requestIdOf(headers, body)
  return {
    kind,
    detail: readableDetail(body, status ?? response.status),
    ...defined({ status, code, retryAfterMs, statedWindow: read.window }),
    ...sizes,
    ...defined({
      requestId: requestId === undefined ? undefined : maskKeys(requestId),
      mayHaveBeenAccepted: mayHaveBeenAccepted(kind, status) ? true : undefined,
    }),
  }
}

type KindReading = { kind: FailureKind; code?: string; window?: number }

/** Order: decisive codes, phrases, general codes, the status. */
function readKind(refused: RefusalText, received: number | undefined): KindReading {
  const { body, status } = refused
  const upstream = body.upstream !== undefined && status !== 401 && status !== 402
  const reading = byCode(DECISIVE_CODES, body) ?? byPhrase(refused) ?? byCode(GENERAL_CODES, body)
  if (reading) return upstream ? { ...reading, kind: UPSTREAM_KINDS[reading.kind] ?? reading.kind } : reading
  if (status !== undefined) return { kind: kindOfStatus(status) }
  return byCode(CODES_WITHOUT_STATUS, body) ?? { kind: fallbackKind(body, received) }
}

/** A failure between an aggregator and its upstream provider is not caused by our key. */
const UPSTREAM_KINDS: Partial<Record<FailureKind, FailureKind>> = {
  'rate-limited': 'upstream-rate-limited',
  'quota-exhausted': 'upstream-rate-limited',
  'auth-rejected': 'server-error',
}

function byCode(table: Readonly<Record<string, FailureKind>>, body: ErrorBody): KindReading | undefined {
  const code = body.codes.find((code) => Object.hasOwn(table, code))
  return code === undefined ? undefined : { kind: table[code]!, code }
}

function byPhrase(refused: RefusalText): KindReading | undefined {
  const phrase = PHRASES.find((phrase) => matchesPhrase(phrase, refused))
  return phrase && { kind: phrase.kind, ...defined({ window: phrase.window }) }
}

function fallbackKind(body: ErrorBody, received: number | undefined): FailureKind {
  if (received !== undefined && (received < 200 || received >= 300)) return kindOfStatus(received)
  return body.form === 'page' ? 'malformed-answer' : 'server-error'
}

/** A proxy may answer 200 and put the real status into the body. */
function statusOf(received: number | undefined, body: ErrorBody): number | undefined {
  return received !== undefined && received >= 400 ? received : body.status
}

function searchableText(body: ErrorBody): string {
  return [...body.messages, String(body.fields.quotaid ?? '')].join(' \n ').toLowerCase()
}

function mayHaveBeenAccepted(kind: FailureKind, status: number | undefined): boolean {
  return status === undefined ? kind === 'server-error' || kind === 'timeout' : MAY_HAVE_BEEN_ACCEPTED.includes(status)
}

const REQUEST_ID_HEADERS = [
  'request-id',
  'x-request-id',
  'x-oai-request-id',
  'apim-request-id',
  'x-amzn-requestid',
  'x-github-request-id',
  'x-ms-request-id',
  'x-goog-request-id',
  'cf-ray',
]

function requestIdOf(headers: ReadonlyMap<string, string>, body: ErrorBody): string | undefined {
  const stated = REQUEST_ID_HEADERS.map((name) => headers.get(name)).find((id) => id !== undefined && id !== '')
  return (stated ?? body.requestId)?.slice(0, 120)
}

function lowerCased(headers: Refusal['headers']): Map<string, string> {
  return new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value).trim()]))
}

function dateOf(headers: ReadonlyMap<string, string>): number | undefined {
  const time = Date.parse(headers.get('date') ?? '')
  return Number.isFinite(time) ? time : undefined
}
