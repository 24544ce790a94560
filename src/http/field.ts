import { z } from 'zod'
import type { IdPrefix } from '../core/id.ts'
import type { Json, JsonObject } from '../core/json.ts'

/** An id with this prefix, validated and typed at the boundary. */
export const id = <P extends IdPrefix>(prefix: P) =>
  z
    .string()
    .regex(new RegExp(`^${prefix}-${UUID}$`), {
      error: ({ input }) =>
        `must be "${prefix}-" followed by a lowercase UUID of version 4, not "${String(input ?? '').slice(0, 80)}"`,
    })
    .transform((text) => text as `${P}-${string}`)

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}'

/** A boolean in a query, where every value is text. */
export const flag = z
  .enum(['true', 'false', 'True', 'False', '1', '0'])
  .transform((text) => ['true', 'True', '1'].includes(text))

/** A list in a query: the same key several times, or once. */
export const listOf = <T extends z.ZodType>(item: T, most = 1000) =>
  z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(item).max(most))

export const texts = listOf(z.string())

export const limit = (usual: number, most = 1000) =>
  z.coerce.number().int().min(1).max(most).optional().default(usual).describe('Maximum number of items in a page.')

/** Any JSON. The body parser has already limited its depth, so there is nothing left to check. */
export const json = z.unknown().transform((value) => value as Json)

export const record = z.record(z.string(), z.unknown()).transform((value) => value as JsonObject)

export const date = z
  .string()
  .refine((text) => !Number.isNaN(Date.parse(text)), 'must be an ISO 8601 date')
  .meta({ format: 'date-time' })
