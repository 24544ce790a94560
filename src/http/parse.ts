import type { z } from 'zod'
import { cleanText } from '../core/block.ts'
import { Problem, type ProblemKind } from '../core/problem.ts'

export type RequestPart = 'path' | 'query' | 'body'

/** Validates a value with a schema, or throws a problem that names what is wrong and where. */
export function parsed<S extends z.ZodType>(schema: S, value: unknown, where: RequestPart): z.output<S> {
  const result = schema.safeParse(where === 'path' ? value : withoutNul(value ?? {}))
  if (result.success) return result.data
  throw problemIn(result.error, where)
}

/**
 * Removes NUL characters, which databases cannot store in text. Copies the value only if it contains one, which is
 * rare.
 */
function withoutNul(value: unknown): unknown {
  return hasNul(value) ? cleaned(value) : value
}

function hasNul(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0')
  if (value === null || typeof value !== 'object') return false
  if (Array.isArray(value)) return value.some(hasNul)
  return Object.entries(value).some(([key, item]) => key.includes('\0') || hasNul(item))
}

function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value)
  if (Array.isArray(value)) return value.map(cleaned)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [cleanText(key), cleaned(item)]))
}

/** A schema may set the problem kind in `params.problem`; its error text is then the whole message. */
function problemIn(error: z.ZodError, where: RequestPart): Problem {
  const [first] = error.issues
  const kind = first?.code === 'custom' ? (first.params?.problem as ProblemKind | undefined) : undefined
  return kind ? new Problem(kind, first!.message) : new Problem('invalid', describe(error, where))
}

const MOST_ISSUES = 10

function describe({ issues }: z.ZodError, where: RequestPart): string {
  const lines = issues.slice(0, MOST_ISSUES).map(({ path, message }) => `${[where, ...path].join('.')}: ${message}`)
  return [...lines, ...(issues.length > MOST_ISSUES ? [`and ${issues.length - MOST_ISSUES} more`] : [])].join('; ')
}
