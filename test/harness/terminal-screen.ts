import { textWidth } from '../../src/cli/text-width.ts'

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
// biome-ignore lint/suspicious/noControlCharactersInRegex: codes of a terminal begin with an escape character
const TOKENS = /\x1b\[[?\d;]*[a-zA-Z]|\x1b.|[\r\n\x07]|[^\x1b\r\n\x07]+/g

// biome-ignore lint/suspicious/noControlCharactersInRegex: see above
const HALF_CODE = /\x1b(\[[?\d;]*)?$/

type Size = { columns: number; rows: number }

/** What a terminal shows after this output, scrolled lines included: one text for each row. Styles are left out. */
export function screenAfter(output: string, size: Size): string[] {
  const screen = newTerminalScreen(size)
  screen.feed(output)
  return screen.rows()
}

/** The same for output that arrives in pieces. */
export function newTerminalScreen({ columns, rows }: Size): { feed(output: string): void; rows(): string[] } {
  const lines: string[][] = [[]]
  let row = 0
  let column = 0
  const top = () => Math.max(0, lines.length - rows)
  const lineAt = (index: number): string[] => {
    while (lines.length <= index) lines.push([])
    return lines[index]!
  }
  const put = (grapheme: string) => {
    const width = textWidth(grapheme)
    if (column + width > columns) {
      row += 1
      column = 0
    }
    const line = lineAt(row)
    while (line.length < column) line.push(' ')
    line[column] = grapheme
    // The second half of a wide character.
    if (width === 2) line[column + 1] = ''
    column += width
  }
  const control = (code: string) => {
    const count = Number(/\d+/.exec(code)?.[0] ?? 1)
    switch (code.at(-1)) {
      case 'A':
        row = Math.max(top(), row - count)
        break
      case 'C':
        column = Math.min(columns - 1, column + count)
        break
      case 'J':
        lineAt(row).length = Math.min(lineAt(row).length, column)
        lines.length = row + 1
        break
      case 'K':
        lineAt(row).length = Math.min(lineAt(row).length, column)
        break
    }
  }
  const take = (token: string) => {
    if (token === '\r') column = 0
    else if (token === '\n') {
      row += 1
      lineAt(row)
    } else if (token.startsWith('\x1b')) control(token)
    else if (token !== '\x07') for (const { segment } of graphemes.segment(token)) put(segment)
  }
  let rest = ''
  return {
    feed(output) {
      const text = rest + output
      // A code may arrive in two pieces.
      rest = HALF_CODE.exec(text)?.[0] ?? ''
      for (const [token] of text.slice(0, text.length - rest.length).matchAll(TOKENS)) take(token)
    },
    rows: () => lines.map((line) => line.join('').trimEnd()),
  }
}
