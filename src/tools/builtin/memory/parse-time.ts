import { DAY_MS } from '../../../core/duration.ts'

/** Parses ISO 8601 to milliseconds. A date without a time, as an end, includes the whole day. */
export function parseTime(text: string | null | undefined, edge: 'start' | 'end'): number | undefined | 'unreadable' {
  if (text === null || text === undefined || text === '') return undefined
  const at = Date.parse(text)
  if (Number.isNaN(at)) return 'unreadable'
  return edge === 'end' && /^\d{4}-\d{2}-\d{2}$/.test(text) ? at + DAY_MS - 1 : at
}
