import { type WrapOptions, wrapLine } from './wrap-text.ts'

/** A line that still grows: its complete rows may already be above the region. */
type OpenLine = { committed: number; width: number }

export const NEW_OPEN_LINE: OpenLine = { committed: 0, width: 0 }

type GrowOptions = Omit<WrapOptions, 'width'> & {
  width: number
  /** More rows than this do not stay in the region, which must fit the window. */
  maxRows: number
}

type Grown = { line: OpenLine; done: string[]; open: string[] }

/** The last row may change with the next word, and the one before with a longer word. */
const UNSETTLED_ROWS = 2

/** The rows of a growing line: those that stay now, and those that may still change. */
export function growLine(before: OpenLine, text: string, { maxRows, ...options }: GrowOptions): Grown {
  // A line that has rows above keeps its width: another one would repeat or drop words.
  const width = before.committed > 0 ? before.width : options.width
  const rows = wrapLine(text, { ...options, width })
  const fresh = rows.slice(before.committed)
  if (fresh.length <= maxRows) return { line: { ...before, width }, done: [], open: fresh }
  const done = fresh.slice(0, -UNSETTLED_ROWS)
  return {
    line: { committed: before.committed + done.length, width },
    done,
    open: fresh.slice(-UNSETTLED_ROWS),
  }
}

/** The rows of a line that ended which are not above the region yet. */
export function endLine(before: OpenLine, text: string, options: WrapOptions): string[] {
  const width = before.committed > 0 ? before.width : options.width
  return wrapLine(text, { ...options, width }).slice(before.committed)
}
