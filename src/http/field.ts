import { z } from 'zod'
import type { IdPrefix } from '../core/id.ts'
import type { Json, JsonObject } from '../core/json.ts'

/** An id of one kind, checked and typed where it enters. */
export const id = <P extends IdPrefix>(prefix: P) =>
  z
    .string()
    .regex(new RegExp(`^${prefix}-${UUID}$`), {
      error: ({ input }) =>
        `must be ${prefix}- and a lower-case UUID of version 4, not "${String(input ?? '').slice(0, 80)}"`,
    })
    .transform((text) => text as `${P}-${string}`)

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}'

/** A yes or no in a query, where every value is text. */
export const flag = z
  .enum(['true', 'false', 'True', 'False', '1', '0'])
  .transform((text) => ['true', 'True', '1'].includes(text))

/** A list in a query: the same key several times, or once. */
export const listOf = <T extends z.ZodType>(item: T, most = 1000) =>
  z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(item).max(most))

export const texts = listOf(z.string())

export const limit = (usual: number, most = 1000) =>
  z.coerce.number().int().min(1).max(most).optional().default(usual).describe('The most items of a page.')

/** Any JSON. A body was parsed from JSON, with a bound on its depth, so there is nothing left to check. */
export const json = z.unknown().transform((value) => value as Json)

export const record = z.record(z.string(), z.unknown()).transform((value) => value as JsonObject)

export const date = z
  .string()
  .refine((text) => !Number.isNaN(Date.parse(text)), 'must be a date in ISO 8601')
  .meta({ format: 'date-time' })
