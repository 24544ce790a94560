import { styledWidth } from '../live/text-width.ts'
import type { Paint } from '../terminal.ts'
import { renderInline } from './inline.ts'

type Alignment = 'left' | 'right' | 'center'

export const isTableRow = (line: string): boolean => /^\s*\|/.test(line)

const DELIMITER = /^\s*\|?(\s*:?-+:?\s*\|)+\s*(:?-+:?\s*)?$/

/** The rows of a table with aligned columns; undefined if it is no table, or wider than the window. */
export function renderTable(lines: readonly string[], paint: Paint, width: number): string[] | undefined {
  const [header, delimiter, ...body] = lines
  if (header === undefined || delimiter === undefined || !DELIMITER.test(delimiter)) return undefined
  const alignments = cellsOf(delimiter).map(alignmentOf)
  const rows = [header, ...body].map((line) =>
    alignments.map((_, column) => renderInline(cellsOf(line)[column] ?? '', { paint, isOpen: false })),
  )
  const widths = alignments.map((_, column) => Math.max(1, ...rows.map((cells) => styledWidth(cells[column]!))))
  if (widths.reduce((sum, one) => sum + one + 3, -3) > width) return undefined
  const drawn = rows.map((cells) =>
    cells
      .map((cell, column) => padded(cell, widths[column]!, alignments[column]!))
      .join(` ${paint.dim('│')} `)
      .trimEnd(),
  )
  const rule = paint.dim(widths.map((one) => '─'.repeat(one)).join('─┼─'))
  return [paint.bold(drawn[0]!), rule, ...drawn.slice(1)]
}

/** A table that does not fit: each row as its cells under the names of the columns. */
export function renderAsList(lines: readonly string[], paint: Paint): string[] {
  const [header = '', delimiter = '', ...body] = lines
  if (!DELIMITER.test(delimiter)) return [...lines]
  const names = cellsOf(header)
  const inline = (text: string) => renderInline(text, { paint, isOpen: false })
  return body.flatMap((line) =>
    cellsOf(line).map(
      (cell, column) => `${column === 0 ? '• ' : '  '}${paint.bold(inline(names[column] ?? ''))}: ${inline(cell)}`,
    ),
  )
}

const cellsOf = (line: string): string[] =>
  line
    .trim()
    .replace(/^\||(?<!\\)\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))

function alignmentOf(cell: string): Alignment {
  if (cell.startsWith(':') && cell.endsWith(':')) return 'center'
  return cell.endsWith(':') ? 'right' : 'left'
}

function padded(cell: string, width: number, alignment: Alignment): string {
  const room = Math.max(0, width - styledWidth(cell))
  const before = { left: 0, right: room, center: Math.floor(room / 2) }[alignment]
  return `${' '.repeat(before)}${cell}${' '.repeat(room - before)}`
}
