import { graphemesOf, widthOf } from './text-width.ts'

export type WrapOptions = {
  /** Columns of a row. */
  width: number
  /** Begins every row but the first. */
  hang?: string
  /** `characters` breaks anywhere and keeps every space: code. */
  breakAt?: 'words' | 'characters'
}

const TAB = '    '
const RESET = '\x1b[0m'
// biome-ignore lint/suspicious/noControlCharactersInRegex: style codes begin with an escape character
const TOKENS = /\x1b\[[\d;]*m|[^\x1b]+/g

/** One line of text as rows of a terminal. Styles go on from row to row, and no row leaves one open. */
export function wrapLine(line: string, { width, hang = '', breakAt = 'words' }: WrapOptions): string[] {
  const hangWidth = graphemesOf(hang).reduce((sum, one) => sum + widthOf(one), 0)
  // A hanging indent that leaves no room for words is dropped.
  const indent = hangWidth * 2 < width ? { text: hang, width: hangWidth } : { text: '', width: 0 }
  const rows = newRows(Math.max(1, width), indent)
  for (const [token] of line.replaceAll('\t', TAB).matchAll(TOKENS)) {
    if (token.startsWith('\x1b')) rows.style(token)
    else for (const grapheme of graphemesOf(token)) rows.add(grapheme, breakAt)
  }
  return rows.end()
}

/** Collects a word and places it in the row, or in the next one. */
function newRows(width: number, indent: { text: string; width: number }) {
  const rows: string[] = []
  let styles: string[] = []
  let row = { text: '', width: 0 }
  let word = { text: '', width: 0, styles: [] as string[] }

  const breakRow = (active: readonly string[]) => {
    rows.push(active.length > 0 ? `${row.text}${RESET}` : row.text)
    row = { text: indent.text + active.join(''), width: indent.width }
  }
  const placeWord = () => {
    if (row.width + word.width > width && row.width > indent.width) breakRow(word.styles)
    row = { text: row.text + word.text, width: row.width + word.width }
    word = { text: '', width: 0, styles }
  }
  return {
    style(code: string) {
      styles = withStyle(styles, code)
      word.text += code
      if (word.width === 0) word.styles = styles
    },
    add(grapheme: string, breakAt: 'words' | 'characters') {
      const columns = widthOf(grapheme)
      if (grapheme === ' ' && breakAt === 'words') {
        placeWord()
        // A space at the end of a row is the break itself.
        if (row.width < width) row = { text: `${row.text} `, width: row.width + 1 }
        else breakRow(styles)
        return
      }
      // A word that is wider than a row is broken anywhere; wide characters may be broken everywhere.
      const isOwnWord = breakAt === 'characters' || columns === 2
      if (isOwnWord || indent.width + word.width + columns > width) placeWord()
      word.text += grapheme
      word.width += columns
      if (isOwnWord) placeWord()
    },
    end(): string[] {
      placeWord()
      rows.push(styles.length > 0 ? `${row.text}${RESET}` : row.text)
      return rows
    },
  }
}

/** The codes that end a style, with those that begin it. */
const ENDS: Record<string, RegExp> = {
  // biome-ignore-start lint/suspicious/noControlCharactersInRegex: style codes begin with an escape character
  22: /\x1b\[[12]m/,
  23: /\x1b\[3m/,
  24: /\x1b\[4m/,
  29: /\x1b\[9m/,
  39: /\x1b\[(3[0-7]|9[0-7])m/,
  // biome-ignore-end lint/suspicious/noControlCharactersInRegex: see above
}

function withStyle(active: readonly string[], code: string): string[] {
  const number = code.slice(2, -1)
  if (number === '' || number === '0') return []
  const ended = ENDS[number]
  return ended ? active.filter((one) => !ended.test(one)) : [...active, code]
}
