import { safeText } from '../terminal.ts'
import type { Editor } from './line-editor.ts'
import type { Cursor } from './live-region.ts'
import { graphemesOf, styledWidth, widthOf } from './text-width.ts'

type DrawOptions = {
  /** May have styles. */
  prompt: string
  width: number
  /** The window has no room for more; the rows around the cursor are shown. */
  maxRows: number
  placeholder(text: string): string
}

/** The input as rows, and the place of the cursor in them. */
export function drawEditor(editor: Editor, options: DrawOptions): { rows: string[]; cursor: Cursor } {
  const { prompt, width, maxRows } = options
  const indent = styledWidth(prompt)
  const hang = indent * 2 < width ? ' '.repeat(indent) : ''
  const rows: string[] = []
  let row = { text: prompt, width: indent }
  let cursor: Cursor = { row: 0, column: indent }

  const breakRow = () => {
    rows.push(row.text)
    row = { text: hang, width: hang.length }
  }
  const add = (text: string, columns: number) => {
    if (row.width + columns > width) breakRow()
    row = { text: row.text + text, width: row.width + columns }
  }
  const markCursor = () => {
    if (row.width >= width) breakRow()
    cursor = { row: rows.length, column: row.width }
  }
  for (const [index, { text, placeholder }] of editor.cells.entries()) {
    if (index === editor.cursor) markCursor()
    if (placeholder !== undefined) add(options.placeholder(placeholder), Math.min(width, placeholder.length))
    else if (text === '\n') breakRow()
    else for (const one of graphemesOf(text === '\t' ? '    ' : safeText(text))) add(one, widthOf(one))
  }
  if (editor.cursor === editor.cells.length) markCursor()
  rows.push(row.text)
  const first = Math.max(0, Math.min(cursor.row - Math.floor(maxRows / 2), rows.length - maxRows))
  return { rows: rows.slice(first, first + maxRows), cursor: { ...cursor, row: cursor.row - first } }
}

/** The message as it stays above the input after it was sent. */
export const sentText = ({ cells }: Editor): string =>
  safeText(cells.map(({ text, placeholder }) => placeholder ?? text).join(''))
