import { defined } from '../../core/defined.ts'
import type { Failure, FailureKind } from '../../core/failure.ts'

/** Words that name a failure in a sentence, most specific first. */
const NAMES: Partial<Record<FailureKind, RegExp>> = {
  'rate-limited': /rate|too many|429/,
  'quota-exhausted': /quota|credit|billing|money/,
  'context-overflow': /context|overflow|too long/,
  'auth-rejected': /auth|credential|key|401|403/,
  timeout: /time ?-?out|timed out|slow/,
  unreachable: /reach|network|connection|offline/,
  'content-refused': /refus/,
  'empty-answer': /empty|nothing/,
  'malformed-answer': /malformed|garbage|unreadable/,
  'invalid-request': /invalid|bad request|400/,
  'model-unknown': /unknown|no model|404/,
  overloaded: /overload|busy|5\d\d/,
}

/** The HTTP status that a provider would send. */
const STATUS: Partial<Record<FailureKind, number>> = {
  'rate-limited': 429,
  'quota-exhausted': 402,
  'auth-rejected': 401,
  'invalid-request': 400,
  'model-unknown': 404,
  overloaded: 529,
}

/** The requested failure; `overloaded` if the sentence names none. */
export function failureFor(words: string): Failure {
  const kinds = Object.keys(NAMES) as FailureKind[]
  const kind = kinds.find((one) => NAMES[one]?.test(words.toLowerCase())) ?? 'overloaded'
  const status = STATUS[kind]
  return { kind, detail: `the scripted model was asked to fail: ${kind}`, ...defined({ status: status || undefined }) }
}
