import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/duration.ts'
import type { FailureKind } from '../../core/failure.ts'
import type { ErrorBody } from './error-body.ts'

const MAX_WAIT_MS = 7 * DAY_MS

type WaitSources = { headers: ReadonlyMap<string, string>; body: ErrorBody; at: number | undefined }

/** The wait that the provider asks for, if stated; the first source with a time in the future wins. */
export function statedWait(kind: FailureKind, from: WaitSources): number | undefined {
  let passed: number | undefined
  for (const source of SOURCES[kind] ?? []) {
    const wait = source(from)
    if (wait === undefined || !Number.isFinite(wait)) continue
    if (wait > 0) return Math.min(Math.ceil(wait), MAX_WAIT_MS)
    passed = 0
  }
  return passed
}

type WaitSource = (from: WaitSources) => number | undefined

const AFTER_HEADERS: WaitSource = ({ headers, at }) => {
  const milliseconds = headers.get('retry-after-ms')
  if (milliseconds !== undefined && /^\d+(\.\d+)?$/.test(milliseconds)) return Number(milliseconds)
  const after = headers.get('retry-after')
  if (after === undefined) return undefined
  return /^\d+(\.\d+)?$/.test(after) ? Number(after) * 1_000 : msUntil(Date.parse(after), at)
}

const RETRY_FIELDS: WaitSource = ({ body, at }) =>
  firstFinite([
    durationIn(body.fields.retrydelay),
    scaled(body.fields.retry_after_ms, 1),
    scaled(body.fields.retry_after_seconds, 1_000),
    parseMoment(body.fields.retry_after, at),
  ])

const RESET_FIELDS: WaitSource = ({ body, at }) =>
  firstFinite([
    durationIn(body.fields.quotaresetdelay),
    scaled(body.fields.resets_in_seconds, 1_000),
    parseMoment(body.fields.quotaresettimestamp, at),
    parseMoment(body.fields.resets_at, at),
    parseMoment(body.fields.reset_at, at),
    parseMoment(body.fields['x-ratelimit-reset'], at),
  ])

const DURATION =
  '(?:\\d+(?:\\.\\d+)?\\s*(?:ms|milliseconds?|d|days?|h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)\\b[\\s,]*(?:and\\s+)?)+'
// `4h5m3s` has no word boundaries inside.
const COMPACT = '(?:\\d+(?:\\.\\d+)?(?:ms|d|hr?|m|s))+'
const RETRY_TEXT = new RegExp(`(?:try again|retry(?:ing)?|wait)\\b[^\\d.]{0,30}(${DURATION}|${COMPACT}\\b)`, 'i')
const RESET_TEXT = new RegExp(
  `(?:resets?|available again|regain access)\\b[^\\d.]{0,30}(${DURATION}|${COMPACT}\\b)`,
  'i',
)
const DATE =
  /(?:try again|resets?|available again|regain access)\b[^\d.]{0,20}(\d{4}-\d\d-\d\d)(?:T| at | )(\d\d:\d\d(?::\d\d)?(?:\.\d+)?) ?(?:Z|UTC|GMT|\+00:00)/i
const EPOCH = /(?:limit reached\||resets?[_ ](?:at|on)[^\d]{1,5})(\d{10,13})\b/i

const RETRY_WORDS: WaitSource = ({ body }) =>
  durationIn(RETRY_TEXT.exec(textOf(body))?.[1]) ?? scaled(/(\d+)\s*秒后(?:再|重)?试/.exec(textOf(body))?.[1], 1_000)

const RESET_WORDS: WaitSource = ({ body, at }) => {
  const text = textOf(body)
  const date = DATE.exec(text)
  return firstFinite([
    durationIn(RESET_TEXT.exec(text)?.[1]),
    date ? msUntil(Date.parse(`${date[1]}T${date[2]}Z`), at) : undefined,
    parseMoment(EPOCH.exec(text)?.[1], at),
  ])
}

/** These headers come with every response: only exhausted limits count, and the latest reset decides. */
const RESET_HEADERS: WaitSource = ({ headers, at }) => {
  const waits = [...headers].flatMap(([name, value]) => {
    const limit = RESET_HEADER.exec(name)
    if (!limit || hasRemaining(headers, name)) return []
    const wait = durationIn(value) ?? parseMoment(value, at)
    return wait === undefined ? [] : [wait]
  })
  return waits.length === 0 ? undefined : Math.max(...waits)
}

const RESET_HEADER =
  /^(?:x-ratelimit-reset|ratelimit-reset$|anthropic-ratelimit-.*-reset$|x-codex-.*-reset-after-seconds$)/

function hasRemaining(headers: ReadonlyMap<string, string>, name: string): boolean {
  const codex = /^(x-codex-\w+)-reset-after-seconds$/.exec(name)
  if (codex) return Number(headers.get(`${codex[1]}-used-percent`) ?? 0) < 100
  const status = name.endsWith('-reset') ? headers.get(name.replace(/-reset$/, '-status')) : undefined
  if (status !== undefined && status !== 'rejected') return true
  const remaining = headers.get(name.replace('reset', 'remaining'))
  return remaining !== undefined && Number(remaining) > 0
}

const ALL: readonly WaitSource[] = [AFTER_HEADERS, RETRY_FIELDS, RESET_FIELDS, RETRY_WORDS, RESET_WORDS, RESET_HEADERS]
const WITHOUT_LIMITS: readonly WaitSource[] = [AFTER_HEADERS, RETRY_FIELDS, RETRY_WORDS]

/** Trusted sources per kind. An exhausted quota often comes with a retry delay of seconds, which is ignored. */
const SOURCES: Partial<Record<FailureKind, readonly WaitSource[]>> = {
  'rate-limited': ALL,
  'upstream-rate-limited': ALL,
  'quota-exhausted': [RESET_FIELDS, RESET_WORDS],
  overloaded: WITHOUT_LIMITS,
  'server-error': WITHOUT_LIMITS,
  timeout: WITHOUT_LIMITS,
  unreachable: [AFTER_HEADERS],
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS }

/** `20s`, `1m0.5s`, `4hr 5min`, `5 days 22 hours`. */
function durationIn(value: string | number | undefined): number | undefined {
  if (typeof value !== 'string' || value.length > 100) return undefined
  let total: number | undefined
  for (const [, amount, unit] of value.matchAll(/(\d{1,15}(?:\.\d{1,15})?)\s{0,9}(ms|millisecond|[dhms])[a-z]*/gi)) {
    const scale = UNITS[unit!.toLowerCase().startsWith('milli') ? 'ms' : unit!.toLowerCase()]!
    total = (total ?? 0) + Number(amount) * scale
  }
  return total
}

/** Accepts seconds from now, epoch seconds, epoch milliseconds or a date. */
function parseMoment(value: string | number | undefined, at: number | undefined): number | undefined {
  if (value === undefined || value === '') return undefined
  const number = Number(value)
  if (!Number.isFinite(number))
    return typeof value === 'string' && /^\d{4}-/.test(value) ? msUntil(Date.parse(value), at) : undefined
  if (number >= 1e11) return msUntil(number, at)
  if (number >= 1e9) return msUntil(number * 1_000, at)
  return number * 1_000
}

const msUntil = (time: number, at: number | undefined): number | undefined =>
  at === undefined || !Number.isFinite(time) ? undefined : Math.max(0, time - at)

const scaled = (value: string | number | undefined, scale: number): number | undefined =>
  value === undefined || value === '' ? undefined : Number(value) * scale

const firstFinite = (waits: readonly (number | undefined)[]): number | undefined =>
  waits.find((wait) => wait !== undefined && Number.isFinite(wait))

const textOf = (body: ErrorBody): string => body.messages.join(' \n ').slice(0, 8_000)
