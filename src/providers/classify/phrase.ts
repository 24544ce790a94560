import type { FailureKind } from '../../core/failure.ts'
import type { ErrorBody } from './error-body.ts'

/**
 * A pattern of an error message. Words are in lower case; a list inside `all` matches if any of its members does.
 * `statuses` restricts the status (4 and 5 stand for 4xx and 5xx); an error without a status passes.
 */
export type Phrase = {
  kind: FailureKind
  any?: readonly string[]
  all?: readonly (string | readonly string[])[]
  none?: readonly string[]
  statuses?: readonly number[]
  /** Requires exactly this status; an error without a status does not match. */
  onlyStatus?: number
  /** A feature that the body must have. */
  having?: 'upstream' | 'reset' | 'page'
  /** The context window that this error implies but does not state. */
  window?: number
}

export type RefusalText = { text: string; status: number | undefined; body: ErrorBody }

export function matchesPhrase(phrase: Phrase, { text, status, body }: RefusalText): boolean {
  const has = (words: string) => text.includes(words)
  return (
    allows(phrase.statuses, status) &&
    (phrase.onlyStatus === undefined || phrase.onlyStatus === status) &&
    (phrase.having === undefined || HAVING[phrase.having](body)) &&
    (phrase.any === undefined || phrase.any.some(has)) &&
    (phrase.all ?? []).every((words) => (typeof words === 'string' ? has(words) : words.some(has))) &&
    !(phrase.none ?? []).some(has)
  )
}

const HAVING: Record<NonNullable<Phrase['having']>, (body: ErrorBody) => boolean> = {
  upstream: (body) => body.upstream !== undefined,
  reset: (body) => ['quotaresetdelay', 'quotaresettimestamp'].some((name) => body.fields[name] !== undefined),
  page: (body) => body.form === 'page',
}

function allows(statuses: Phrase['statuses'], status: number | undefined): boolean {
  if (statuses === undefined || status === undefined) return true
  return statuses.includes(status) || statuses.includes(Math.floor(status / 100))
}
