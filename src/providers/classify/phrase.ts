import type { FailureKind } from '../../core/failure.ts'
import type { ErrorBody } from './error-body.ts'

/**
 * One way to say one thing. The words are in lower case; a list among `all` is satisfied by any of its members. `statuses`
 * narrows known statuses (4 and 5 are the families) and lets an error without one pass.
 */
export type Phrase = {
  kind: FailureKind
  any?: readonly string[]
  all?: readonly (string | readonly string[])[]
  none?: readonly string[]
  statuses?: readonly number[]
  /** What makes it so is this status: an error without one does not pass. */
  onlyStatus?: number
  /** What the body must have beside its words. */
  having?: 'upstream' | 'reset' | 'page'
  /** The window this refusal stands for, where its text does not say it. */
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
