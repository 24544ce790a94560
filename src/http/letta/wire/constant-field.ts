import { z } from 'zod'

/** Fields without a value in Holdfast that the official client still declares. */
export const alwaysNull = z.null().describe('Always null: kept for clients that read it.')

export const alwaysEmpty = z.lazy(() => z.array(z.never()).describe('Always empty: kept for clients that read it.'))

/** A field that has the same value in every answer. */
export const always = <const T extends string | number | boolean>(value: T) =>
  z.literal(value).describe(`Always ${JSON.stringify(value)}: kept for clients that read it.`)
