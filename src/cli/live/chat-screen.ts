import { closesFence, codeLine, type Fence, openedFence, type ShownLine, textLine } from '../markdown/block-line.ts'
import { isTableRow, renderAsList, renderTable } from '../markdown/table.ts'
import { CLEAR_LINE, type Look, type Screen } from '../terminal.ts'
import type { LiveRegion } from './live-region.ts'
import { endLine, growLine, NEW_OPEN_LINE } from './open-line.ts'
import { withoutStyles } from './text-width.ts'
import { wrapLine } from './wrap-text.ts'

/** The text of a chat above its input: notes as they are, answers as Markdown, both wrapped at the width of the window. */
type ChatScreen = Screen & {
  /** Where the text of answers goes. */
  readonly answers: Screen
  /** Ends the open line, so that what follows has its own. */
  finish(): void
}

type ChatScreenOptions = {
  region: LiveRegion
  look(): Look
  /** Rows that an unfinished line may take in the region. */
  maxOpenRows(): number
  /** False: the source of answers is shown, for NO_COLOR. */
  hasMarkdown: boolean
}

export function newChatScreen({ region, look, maxOpenRows, hasMarkdown }: ChatScreenOptions): ChatScreen {
  /** The unfinished line, and which of the two wrote it. */
  let open = { text: '', by: 'notes' as 'notes' | 'answers' }
  let grown = NEW_OPEN_LINE
  let fence: Fence | undefined
  let table: string[] = []

  const shownLine = (text: string, isOpen: boolean): ShownLine => {
    if (open.by === 'notes' || !hasMarkdown) return { text, hang: hangOf(text) }
    if (fence) return isOpen && /^\s*[`~]*$/.test(text) ? { text: '' } : codeLine(text, fence, look())
    return textLine(text, look(), isOpen)
  }

  const print = (line: ShownLine) => {
    const { text, ...options } = line
    region.print(endLine(grown, text, { ...options, width: look().width }))
    grown = NEW_OPEN_LINE
  }

  const endTable = () => {
    if (table.length === 0) return
    const { paint, width } = look()
    const rows = renderTable(table, paint, width)
    if (rows) region.print(rows)
    else for (const row of renderAsList(table, paint)) region.print(wrapLine(row, { width, hang: '    ' }))
    table = []
  }

  const endOpen = () => {
    const { text, by } = open
    if (by === 'answers' && hasMarkdown) endAnswerLine(text)
    else print(shownLine(text, false))
    open = { text: '', by }
  }

  function endAnswerLine(text: string): void {
    if (fence) {
      const closes = closesFence(text, fence)
      if (closes) fence = undefined
      else print(shownLine(text, false))
      return
    }
    // Rows of a line that is above already cannot become a table.
    if (isTableRow(text) && grown.committed === 0) {
      table.push(text)
      return
    }
    endTable()
    const opened = openedFence(text)
    if (!opened) {
      print(shownLine(text, false))
      return
    }
    fence = opened
    if (opened.language !== '') print({ text: look().paint.dim(`  ${opened.language}`) })
  }

  const drawOpen = () => {
    if (open.text === '' && table.length === 0) return region.show('open', [])
    const waiting = table.map((row) => look().paint.dim(row.slice(0, look().width)))
    const isTable = table.length > 0 || (open.by === 'answers' && hasMarkdown && !fence && isTableRow(open.text))
    if (isTable) {
      const rows = [...waiting, ...(open.text === '' ? [] : [look().paint.dim(open.text.slice(0, look().width))])]
      return region.show('open', rows.slice(-maxOpenRows()))
    }
    const { text, ...options } = shownLine(open.text, true)
    const next = growLine(grown, text, { ...options, width: look().width, maxRows: maxOpenRows() })
    grown = next.line
    region.print(next.done)
    region.show('open', next.open)
  }

  const write = (by: 'notes' | 'answers', text: string) => {
    if (by !== open.by) settle()
    // A note of the turn is the end of its answer, and of a fence that the answer left open.
    if (by === 'notes') fence = undefined
    open.by = by
    const cleared = text.lastIndexOf(CLEAR_LINE)
    if (cleared !== -1) open.text = ''
    const [first = '', ...lines] = (cleared === -1 ? text : text.slice(cleared + CLEAR_LINE.length)).split('\n')
    open.text += first
    for (const line of lines) {
      endOpen()
      open.text = line
    }
    drawOpen()
  }

  const isProgress = () => open.by === 'notes' && withoutStyles(open.text).startsWith(PROGRESS)

  function settle(): void {
    if (open.text !== '') endOpen()
    endTable()
    region.show('open', [])
  }

  return {
    write: (text) => write('notes', text),
    line(text = '') {
      // A line of its own may come in the middle of an answer, which goes on below it. Progress stays the last line.
      if (!isProgress()) settle()
      for (const one of text.split('\n')) region.print(wrapLine(one, { width: look().width, hang: hangOf(one) }))
    },
    get look() {
      return look()
    },
    answers: {
      write: (text) => write('answers', text),
      line: (text = '') => write('answers', `${text}\n`),
      get look() {
        return look()
      },
    },
    finish() {
      settle()
      fence = undefined
    },
  }
}

/** The line of a running tool, which the next one replaces. */
const PROGRESS = '  … '
const MARKED = /^ *([→✓✗?!≡↺■…•│✉] +)?/u

/** The rows of a note begin below its first word. */
const hangOf = (text: string): string => ' '.repeat(MARKED.exec(withoutStyles(text))![0].length)
