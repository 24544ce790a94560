import { type Look, type Screen, safeText } from '../terminal.ts'
import { cutToWidth, padToWidth, textWidth } from '../text-width.ts'

export type Column<Row> = {
  title: string
  text(row: Row): string
  paint?: keyof Look['paint'] | ((row: Row) => keyof Look['paint'] | undefined)
  align?: 'right'
  /** Prose is cut to this many columns, in a pipe too: `--json` has all of it. */
  longest?: number
  /** Gives way first when the table is wider than the terminal, down to this many columns. */
  shrinksTo?: number
  /** A shorter form for all rows when the table is wider than the terminal. */
  short?(row: Row): string
}

const GAP = 2

/**
 * A table with a heading. On a terminal it fits the width: short forms first, then the columns that may shrink. A pipe gets
 * whole values, except of prose.
 */
export function printTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[], { look, line }: Screen): void {
  const isFitted = look.canRedraw
  const full = columns.map((column) => rows.map((row) => cellText(column, row)))
  const isTooWide = isFitted && totalOf(widthsOf(columns, full)) > look.width
  const cells = columns.map(({ short }, index) =>
    isTooWide && short ? rows.map((row) => oneLine(short(row))) : full[index]!,
  )
  const natural = widthsOf(columns, cells)
  const widths = isFitted ? fitted(natural, columns, look.width) : natural
  const print = (texts: string[], painted: (text: string, index: number) => string) => {
    const shown = texts.map((text, index) => {
      const cut = cutToWidth(text, widths[index]!)
      const padding = ' '.repeat(Math.max(0, widths[index]! - textWidth(cut)))
      const isLast = index === texts.length - 1
      if (columns[index]!.align === 'right') return padding + painted(cut, index)
      return painted(cut, index) + (isLast ? '' : padding)
    })
    line(shown.join(' '.repeat(GAP)).trimEnd())
  }
  print(
    columns.map(({ title }) => title),
    (text) => look.paint.dim(text),
  )
  rows.forEach((row, number) => {
    print(
      cells.map((column) => column[number]!),
      (text, index) => {
        const { paint } = columns[index]!
        const color = typeof paint === 'function' ? paint(row) : paint
        return color ? look.paint[color](text) : text
      },
    )
  })
}

/** A character has rarely more code units than this; the rest of a long text need not be read. */
const UNITS_PER_COLUMN = 10

const cellText = <Row>({ text, longest }: Column<Row>, row: Row): string =>
  longest === undefined
    ? oneLine(text(row))
    : cutToWidth(oneLine(text(row).slice(0, longest * UNITS_PER_COLUMN)), longest)

const widthsOf = (columns: readonly Column<never>[], cells: readonly string[][]): number[] =>
  columns.map(({ title }, index) => Math.max(textWidth(title), ...cells[index]!.map(textWidth)))

const totalOf = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, 0) + GAP * (widths.length - 1)

/** Takes columns from the widest that may shrink, until the table fits. */
function fitted(natural: readonly number[], columns: readonly Column<never>[], limit: number): number[] {
  const widths = [...natural]
  const least = columns.map(({ shrinksTo, title }) =>
    shrinksTo === undefined ? undefined : Math.max(shrinksTo, textWidth(title)),
  )
  while (totalOf(widths) > limit) {
    let widest: number | undefined
    widths.forEach((width, index) => {
      const floor = least[index]
      if (floor === undefined || width <= floor) return
      if (widest === undefined || width > widths[widest]!) widest = index
    })
    if (widest === undefined) break
    widths[widest]! -= 1
  }
  return widths
}

/** A cell never breaks its row. */
const oneLine = (text: string): string => safeText(text.replaceAll(/\s+/g, ' ').trim()).replaceAll(/\s+/g, ' ')

/** Name and value on each line, the values below each other. */
export function printFields(fields: readonly (readonly [string, string | undefined])[], { line }: Screen): void {
  const shown = fields.filter((field): field is [string, string] => field[1] !== undefined && field[1] !== '')
  const width = Math.max(0, ...shown.map(([name]) => textWidth(name)))
  for (const [name, value] of shown)
    line(`  ${padToWidth(name, width)}  ${value.split('\n').join(`\n${' '.repeat(width + 4)}`)}`)
}
