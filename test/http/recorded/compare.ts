import type { RecordedAnswer } from './normalize.ts'
import type { RecordedRequest } from './request.ts'

export type Recorded = { request: string; answer: RecordedAnswer }

/** The name of a request in a recording; its body is in the corpus. */
export function titleOf({ method, path, key }: RecordedRequest): string {
  return `${method} ${path}${key ? ` (key: ${key})` : ''}`
}

/** Describes each request whose answer has changed. */
export function differencesOf(
  before: readonly Recorded[],
  after: readonly Recorded[],
  requests: readonly RecordedRequest[],
): string[] {
  const missing = before.length === after.length ? [] : [`${before.length} answers before, ${after.length} after`]
  const changed = after.flatMap((now, index) => {
    const then = before[index]
    if (then && JSON.stringify(then) === JSON.stringify(now)) return []
    return [`${now.request}\n  sent:   ${sentBy(requests[index]!)}\n${changeOf(then, now)}`]
  })
  return [...missing, ...changed]
}

function sentBy({ json, raw, bytes, form, headers }: RecordedRequest): string {
  return JSON.stringify({ json, raw, bytes, form, headers }).slice(0, 500)
}

function changeOf(then: Recorded | undefined, now: Recorded): string {
  if (!then) return `  before: nothing\n  after:  ${JSON.stringify(now.answer)}`
  if (then.request !== now.request) return `  before: another request, ${then.request}`
  if (withoutNumbers(then) === withoutNumbers(now))
    return '  only the numbers of ids: something was made more often, or less, before this'
  return leafDifferences(then.answer, now.answer, '')
    .slice(0, 10)
    .map(({ at, one, other }) => `  at ${at}\n    before: ${short(one)}\n    after:  ${short(other)}`)
    .join('\n')
}

/** Ids are numbered in the order of their first use, so a new id changes the numbers after it. */
const withoutNumbers = (recorded: Recorded): string => JSON.stringify(recorded).replaceAll(/\b([a-z_]+)-\d+\b/g, '$1')

type LeafDifference = { at: string; one: unknown; other: unknown }

/** The innermost differences between two values. */
function leafDifferences(one: unknown, other: unknown, at: string): LeafDifference[] {
  if (JSON.stringify(one) === JSON.stringify(other)) return []
  if (!isBranch(one) || !isBranch(other) || Array.isArray(one) !== Array.isArray(other))
    return [{ at: at || '.', one, other }]
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  const inner = [...names].flatMap((name) => leafDifferences(one[name], other[name], at ? `${at}.${name}` : name))
  return inner.length > 0 ? inner : [{ at: `${at} (order of fields)`, one, other }]
}

const isBranch = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const short = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 1_000))
