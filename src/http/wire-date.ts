import { z } from 'zod'

/** A date in an answer. */
export const dateSchema = z.string().meta({ format: 'date-time' })

/** ISO 8601 in whole seconds with an explicit offset. The last second is cached: most calls repeat it. */
export function wireDate(at: number): string {
  const second = Math.floor(at / 1_000)
  if (second !== dated.second) dated = { second, text: `${new Date(at).toISOString().slice(0, 19)}+00:00` }
  return dated.text
}

let dated = { second: Number.NaN, text: '' }
