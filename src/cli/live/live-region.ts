import { styledWidth } from './text-width.ts'

/** The rows at the bottom of the terminal, from above: the unfinished text, the state of the turn, the input, a hint. */
type RegionPart = 'open' | 'status' | 'input' | 'hint'

export type Cursor = { row: number; column: number }

/** Rows that are redrawn in place, below text that stays. */
export type LiveRegion = {
  /** Rows that stay. */
  print(rows: readonly string[]): void
  show(part: RegionPart, rows: readonly string[], cursor?: Cursor): void
  /** Draws at once what waits for the next frame. */
  flush(): void
  /** Removes the region from the terminal; `flush` draws it again. */
  erase(): void
  /** Removes the region; nothing is drawn after it. */
  close(): void
}

type RegionTerminal = Pick<NodeJS.WriteStream, 'write' | 'columns' | 'rows'>

/** Frames in between are never seen, and a fast model would write hundreds. */
const FRAME_MS = 25
const HIDE_CURSOR = '\x1b[?25l'
const SHOW_CURSOR = '\x1b[?25h'
const ERASE_BELOW = '\x1b[J'
const ORDER: readonly RegionPart[] = ['open', 'status', 'input', 'hint']

export function newLiveRegion(terminal: RegionTerminal): LiveRegion {
  const parts: Record<RegionPart, readonly string[]> = { open: [], status: [], input: [], hint: [] }
  let cursorInInput: Cursor | undefined
  let waiting: string[] = []
  let timer: NodeJS.Timeout | undefined
  let drawn: { rows: readonly string[]; cursor: Cursor } = { rows: [], cursor: { row: 0, column: 0 } }
  let isClosed = false

  /** To the first column of the first row of what is drawn. A narrower window has broken rows into several. */
  const toTop = () => {
    const { rows, cursor } = drawn
    const heights = rows.slice(0, cursor.row).map((row) => heightOf(styledWidth(row), terminal.columns))
    const up = heights.reduce((sum, height) => sum + height, Math.floor(cursor.column / columnsOf(terminal)))
    return up > 0 ? `\r\x1b[${up}A` : '\r'
  }

  const draw = () => {
    clearTimeout(timer)
    timer = undefined
    if (isClosed) return
    const all = ORDER.flatMap((part) => parts[part])
    const skipped = Math.max(0, all.length - Math.max(1, (terminal.rows || 24) - 1))
    const rows = all.slice(skipped)
    const above = parts.open.length + parts.status.length - skipped
    const cursor = cursorInInput
      ? { row: Math.max(0, above + cursorInInput.row), column: cursorInInput.column }
      : { row: Math.max(0, rows.length - 1), column: styledWidth(rows.at(-1) ?? '') }
    const stays = waiting.map((row) => `${row}\r\n`).join('')
    const up = rows.length - 1 - cursor.row
    const back = `${up > 0 ? `\x1b[${up}A` : ''}\r${cursor.column > 0 ? `\x1b[${cursor.column}C` : ''}`
    terminal.write(
      `${HIDE_CURSOR}${toTop()}${ERASE_BELOW}${stays}${rows.join('\r\n')}${back}${cursorInInput ? SHOW_CURSOR : ''}`,
    )
    waiting = []
    drawn = { rows, cursor }
  }

  const erase = () => {
    terminal.write(`${toTop()}${ERASE_BELOW}${waiting.map((row) => `${row}\r\n`).join('')}${SHOW_CURSOR}`)
    waiting = []
    drawn = { rows: [], cursor: { row: 0, column: 0 } }
  }

  const schedule = () => {
    if (!isClosed) timer ??= setTimeout(draw, FRAME_MS)
  }

  return {
    print(rows) {
      if (isClosed) for (const row of rows) terminal.write(`${row}\n`)
      else waiting.push(...rows)
      schedule()
    },
    show(part, rows, cursor) {
      parts[part] = rows
      if (part === 'input') cursorInInput = cursor
      schedule()
    },
    flush: draw,
    erase,
    close() {
      if (isClosed) return
      clearTimeout(timer)
      erase()
      isClosed = true
    },
  }
}

const columnsOf = ({ columns }: Pick<RegionTerminal, 'columns'>): number => Math.max(1, columns || 80)

const heightOf = (width: number, columns: number): number => Math.max(1, Math.ceil(width / Math.max(1, columns || 80)))
