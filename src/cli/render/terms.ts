import { styledWidth } from '../live/text-width.ts'
import { wrapLine } from '../live/wrap-text.ts'
import type { Look } from '../terminal.ts'

/** A term and its explanation. */
export type Term = readonly [term: string, text: string]

const INDENT = '  '
const GAP = 2
/** A longer term has a row of its own. */
const WIDEST_TERM = 24
/** With fewer columns for the explanations they go below their terms. */
const LEAST_TEXT = 30

/** Terms and explanations in two columns, or below each other in a narrow window. May have styles. */
export function termLines(terms: readonly Term[], { width }: Pick<Look, 'width'>, widest = WIDEST_TERM): string[] {
  const widths = terms.map(([term]) => styledWidth(term)).filter((columns) => columns <= widest)
  const column = INDENT.length + Math.max(0, ...widths) + GAP
  const isStacked = width - column < LEAST_TEXT
  const hang = isStacked ? INDENT.repeat(2) : ' '.repeat(column)
  const rows = terms.flatMap(([term, text]) => {
    const head = `${INDENT}${term}`
    const used = styledWidth(head)
    if (!isStacked && used + GAP <= column)
      return wrapLine(`${head}${' '.repeat(column - used)}${text}`, { width, hang })
    return [...wrapLine(head, { width, hang: INDENT.repeat(2) }), ...wrapLine(`${hang}${text}`, { width, hang })]
  })
  return rows.map((row) => row.trimEnd())
}
