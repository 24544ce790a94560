import type { IdPrefix } from '../core/id.ts'
import { parseId } from '../core/id.ts'
import { Problem } from '../core/problem.ts'
import type { NamedById } from '../ports/id-store.ts'
import type { ServiceContext } from './service-context.ts'

/** As many as a message can list. */
export const MAX_CANDIDATES = 10

/** Fewer characters without the prefix of the noun are more likely a mistyped name. */
const MIN_BARE_LENGTH = 4
const HEX = /^[0-9a-f][0-9a-f-]*$/

/** Whether the text can be the beginning of an id of this noun: `run-3f`, or `3f2a` without the prefix. */
export function idStart(prefix: IdPrefix, text: string): string | undefined {
  const hasPrefix = text.startsWith(`${prefix}-`)
  const rest = hasPrefix ? text.slice(prefix.length + 1) : text
  if (!HEX.test(rest) || (!hasPrefix && rest.length < MIN_BARE_LENGTH)) return undefined
  return `${prefix}-${rest}`
}

/** The only id that begins with the text; undefined if there is none, refused if there are several. */
export async function completedId<P extends NamedById>(
  kind: P,
  text: string,
  { deps, organizationId }: ServiceContext,
): Promise<`${P}-${string}` | undefined> {
  const whole = parseId(kind, text)
  if (whole) return whole
  const start = idStart(kind, text)
  if (start === undefined) return undefined
  const [id, ...more] = await deps.store.ids.beginningWith(organizationId, { kind, start, limit: MAX_CANDIDATES })
  if (more.length > 0) throw ambiguous(text, [id!, ...more])
  return id as `${P}-${string}` | undefined
}

export const ambiguous = (text: string, candidates: readonly string[]): Problem =>
  new Problem(
    'invalid-argument',
    `"${text.slice(0, 200)}" can mean ${candidates.join(', ')}${candidates.length === MAX_CANDIDATES ? ' or more' : ''}. Use an id, or the first characters of one.`,
  )
