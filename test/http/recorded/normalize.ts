import type { Answer } from './play.ts'

/** An answer without the values that differ from run to run. */
export type RecordedAnswer = { status: number; headers: Record<string, string>; body?: unknown }

/** Headers that are part of the contract. */
const HEADERS = [
  'content-type',
  'retry-after',
  'x-should-retry',
  'x-holdfast-warnings',
  'x-run-id',
  'allow',
  'location',
  'cache-control',
  'x-accel-buffering',
  'content-security-policy',
  'x-content-type-options',
  'referrer-policy',
]

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const ID = new RegExp(`\\b([a-z_]+)-(${UUID})\\b`, 'g')
const BARE_UUID = new RegExp(`(?<![\\w-])(?!00000000)${UUID}\\b`, 'g')
/** Ids that the corpus itself contains, and those that every home has. */
const FIXED = '00000000-'
const MOMENT = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?/g
const SPELLED_MOMENT = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [AP]M UTC[+-]?\d*/g
const KEY = /\bhfk-[0-9a-f]{12}(-[0-9a-f]{64})?/g
const WEBHOOK_KEY = /\bwhsec_[A-Za-z0-9+/]+=*/g
const DIGEST = /\b[0-9a-f]{64}\b/g
/** Generated names with random digits. */
const SHORT_ID = /\b(agent|process)-[0-9a-f]{8}\b(?!-)/g
const SECONDS = /\b(after|for) \d+(\.\d+)? s\b/g
const LONG = /x{100,}/g
const DAY_MS = 86_400_000
const NANOSECONDS_PER_MILLISECOND = 1_000_000
/** Measurements of time and memory. */
const MEASURED = /(_ns|_ms|Ms|_seconds)$|^(memory_bytes|disk_bytes|sequence)$/

/** `placeholders` maps texts of this machine to placeholders. */
export function newNormalizer(placeholders: readonly (readonly [text: string, name: string])[]) {
  const names = new Map<string, string>()
  const counts = new Map<string, number>()

  function nameOf(id: string, prefix: string): string {
    const known = names.get(id)
    if (known) return known
    const count = (counts.get(prefix) ?? 0) + 1
    counts.set(prefix, count)
    const name = `${prefix}-${count}`
    names.set(id, name)
    return name
  }

  function textOf(text: string): string {
    let plain = text
    for (const [place, name] of placeholders) plain = plain.replaceAll(place, name)
    return plain
      .replaceAll(KEY, (_, secret) => (secret ? '<key>' : '<key prefix>'))
      .replaceAll(WEBHOOK_KEY, '<webhook key>')
      .replaceAll(ID, (id, prefix: string, uuid: string) => (uuid.startsWith(FIXED) ? id : nameOf(id, prefix)))
      .replaceAll(SHORT_ID, (id, prefix: string) => (id.endsWith('00000000') ? id : nameOf(id, prefix)))
      .replaceAll(SECONDS, '$1 <seconds>')
      .replaceAll(BARE_UUID, '<uuid>')
      .replaceAll(DIGEST, '<digest>')
      .replaceAll(SPELLED_MOMENT, '<date>')
      .replaceAll(MOMENT, (moment) => (isNow(Date.parse(moment)) ? '<date>' : moment))
      .replaceAll(LONG, (run) => `<x repeated ${run.length} times>`)
  }

  /** Fields are visited in alphabetical order, so that the numbers of ids do not depend on the order of fields. */
  function normalized(value: unknown, field = ''): unknown {
    if (typeof value === 'string') return textOf(value)
    if (typeof value === 'number') return numberOf(value, field)
    if (Array.isArray(value)) return value.map((item) => normalized(item))
    if (value === null || typeof value !== 'object') return value
    const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
    return Object.fromEntries(fields.map(([name, inner]) => [textOf(name), normalized(inner, name)]))
  }

  return ({ status, headers, body }: Answer, only?: 'status'): RecordedAnswer => {
    const shown = HEADERS.flatMap((name) => (headers[name] === undefined ? [] : [[name, textOf(headers[name])]]))
    const recorded = { status, headers: Object.fromEntries(shown) }
    return only === 'status' ? recorded : { ...recorded, body: normalized(body) }
  }
}

function numberOf(value: number, field: string): unknown {
  if (isNow(value) || isNow(value / NANOSECONDS_PER_MILLISECOND)) return '<time>'
  return MEASURED.test(field) ? '<measured>' : value
}

/** Dates of today or of the next weeks, when approvals and keys expire. */
function isNow(time: number): boolean {
  const ahead = time - Date.now()
  return ahead > -DAY_MS && ahead < 30 * DAY_MS
}
