import { drawEditor, sentText } from '../live/draw-editor.ts'
import { type KeyPress, readKeys } from '../live/key-input.ts'
import {
  continuedLine,
  EDITS,
  type Editor,
  EMPTY_EDITOR,
  editorWith,
  insertPaste,
  insertText,
  isEmpty,
  movedByLine,
  textOfEditor,
} from '../live/line-editor.ts'
import type { LiveRegion } from '../live/live-region.ts'
import { wrapLine } from '../live/wrap-text.ts'
import type { Screen } from '../terminal.ts'
import { type ChatHistory, withEntry } from './chat-history.ts'
import { type Completion, completed } from './completion.ts'
import type { Entered, Keyboard, TurnKeys } from './keyboard.ts'

type TerminalOptions = {
  input: NodeJS.ReadStream
  output: NodeJS.WriteStream
  region: LiveRegion
  screen: Screen
  history: ChatHistory
  /** The words that may stand at the end of this line. */
  complete(line: string): Promise<Completion>
}

/** What a line is for: an answer to the prompt, an answer to a question, or a message during a turn. */
type Mode =
  | { type: 'prompt'; prompt: string; deliver(entered: Entered | undefined): void }
  | { type: 'question'; question: string; draft: Editor; deliver(entered: Entered | undefined): void }
  | { type: 'turn'; keys: TurnKeys }
  | { type: 'between' }

const QUESTION_PROMPT = '  › '
const KILLS: ReadonlySet<string> = new Set(['ctrl+u', 'ctrl+k', 'ctrl+w', 'meta+d', 'meta+backspace'])

/** An input line that stays below the text of the chat, also while a turn runs. */
export function terminalKeyboard(options: TerminalOptions): Keyboard {
  const { input, output, region, screen, history } = options
  let mode: Mode = { type: 'between' }
  let turn: TurnKeys | undefined
  let editor = EMPTY_EDITOR
  let entries = history.load()
  /** Position in the history; its end is the line that is being typed. */
  let browsed = { at: entries.length, draft: EMPTY_EDITOR }
  let killed = ''
  let prompt = ''
  const ahead: Entered[] = []
  let isClosed = false
  /** The user asked to leave while no line was read. */
  let hasLeft = false

  const width = () => screen.look.width
  const draw = () => {
    const { paint } = screen.look
    const shown = mode.type === 'question' ? QUESTION_PROMPT : mode.type === 'prompt' ? mode.prompt : paint.dim(prompt)
    const maxRows = Math.max(1, Math.floor((output.rows || 24) / 2))
    const drawn = drawEditor(editor, { prompt: shown, width: width(), maxRows, placeholder: paint.cyan })
    if (mode.type === 'question') region.show('status', wrapLine(mode.question, { width: width(), hang: '    ' }))
    region.show('input', drawn.rows, drawn.cursor)
  }
  const edit = (next: Editor) => {
    editor = next
    region.show('hint', [])
    draw()
  }

  const press = (pressed: KeyPress) => {
    if (pressed.type === 'text') return edit(insertText(editor, pressed.text))
    if (pressed.type === 'paste') return edit(insertPaste(editor, pressed.text))
    const { name } = pressed
    const act = ACTIONS[name]
    if (act) return act()
    const change = EDITS[name]
    if (!change) return
    const before = textOfEditor(editor)
    const next = change(editor)
    const length = before.length - textOfEditor(next).length
    const at = textOfEditor({ cells: next.cells.slice(0, next.cursor), cursor: 0 }).length
    if (KILLS.has(name) && length > 0) killed = before.slice(at, at + length)
    edit(next)
  }
  const keys = readKeys({ input, output }, press)
  output.on('resize', draw)

  const browse = (by: -1 | 1) => {
    const moved = movedByLine(editor, by < 0 ? 'up' : 'down')
    if (moved) return edit(moved)
    const at = browsed.at + by
    if (mode.type === 'question' || at < 0 || at > entries.length) return
    const draft = browsed.at === entries.length ? editor : browsed.draft
    browsed = { at, draft }
    edit(at === entries.length ? draft : editorWith(entries[at]!))
  }

  const enter = () => {
    const continued = continuedLine(editor)
    if (continued) return edit(continued)
    const entered = { text: textOfEditor(editor), shown: sentText(editor) }
    if (entered.text.trim() === '') return edit(EMPTY_EDITOR)
    if (mode.type !== 'question') {
      entries = withEntry(entries, entered.text)
      history.add(entered.text)
    }
    browsed = { at: entries.length, draft: EMPTY_EDITOR }
    edit(EMPTY_EDITOR)
    if (mode.type === 'turn') mode.keys.line(entered)
    else if (mode.type === 'between') ahead.push(entered)
    else deliver(entered)
  }

  const deliver = (entered: Entered | undefined) => {
    if (mode.type !== 'prompt' && mode.type !== 'question') return
    const { deliver: resolve } = mode
    if (mode.type === 'question') {
      region.show('status', [])
      if (entered) screen.line(`${mode.question}${entered.shown}`)
      editor = mode.draft
    }
    mode = turn ? { type: 'turn', keys: turn } : { type: 'between' }
    draw()
    resolve(entered)
  }

  const interrupt = () => {
    if (mode.type === 'turn') return mode.keys.interrupt()
    // As in a shell: Ctrl-C clears the line.
    if (!isEmpty(editor)) return edit(EMPTY_EDITOR)
    leave()
  }

  const leave = () => {
    if (mode.type === 'between') hasLeft = true
    else deliver(undefined)
  }

  const endInput = () => {
    if (!isEmpty(editor)) return edit(EDITS.delete!(editor))
    if (mode.type === 'turn') mode.keys.leave()
    else leave()
  }

  const tab = async () => {
    const before = editor
    if (before.cursor !== before.cells.length) return
    const { text, choices } = completed(textOfEditor(before), await options.complete(textOfEditor(before)))
    // The user typed on while the words were looked up.
    if (editor !== before || isClosed) return
    if (text !== textOfEditor(before)) edit(editorWith(text))
    if (choices.length > 1)
      region.show('hint', wrapLine(screen.look.paint.dim(`  ${choices.join('  ')}`), { width: width(), hang: '  ' }))
  }

  /** Ctrl-Z: the shell gets its terminal back until `fg`. */
  const suspend = () => {
    region.erase()
    keys.leave()
    process.once('SIGCONT', () => {
      keys.enter()
      draw()
    })
    // The whole group, as the terminal does it: npm waits for this process.
    process.kill(0, 'SIGTSTP')
  }

  const ACTIONS: Record<string, () => unknown> = {
    return: enter,
    up: () => browse(-1),
    down: () => browse(1),
    'ctrl+p': () => browse(-1),
    'ctrl+n': () => browse(1),
    'ctrl+c': interrupt,
    'ctrl+d': endInput,
    'ctrl+y': () => edit(insertText(editor, killed)),
    'ctrl+z': suspend,
    tab,
    'ctrl+l'() {
      region.erase()
      output.write('\x1b[H\x1b[2J')
      region.flush()
    },
  }

  return {
    isAttended: true,
    readLine(shownPrompt) {
      const typed = ahead.shift()
      if (typed || isClosed || hasLeft) return Promise.resolve(typed)
      prompt = shownPrompt
      return new Promise((resolve) => {
        mode = { type: 'prompt', prompt: shownPrompt, deliver: resolve }
        draw()
      })
    },
    async ask(question) {
      if (isClosed || hasLeft) return undefined
      // Text that was typed before the question was shown must not answer it; it comes back afterwards.
      const draft = editor
      editor = EMPTY_EDITOR
      const entered = await new Promise<Entered | undefined>((resolve) => {
        mode = { type: 'question', question, draft, deliver: resolve }
        draw()
      })
      return entered?.text
    },
    duringTurn(turnKeys) {
      turn = turnKeys
      if (mode.type === 'between') mode = { type: 'turn', keys: turnKeys }
      for (const entered of ahead.splice(0)) turnKeys.line(entered)
      if (hasLeft) turnKeys.leave()
      draw()
      return () => {
        turn = undefined
        if (mode.type === 'turn') mode = { type: 'between' }
      }
    },
    restore(text) {
      if (isEmpty(editor)) edit(editorWith(text))
      else screen.line(screen.look.paint.dim('  The message is in the history: press the up arrow.'))
    },
    close() {
      if (isClosed) return
      isClosed = true
      deliver(undefined)
      output.off('resize', draw)
      region.show('input', [])
      region.close()
      keys.leave()
    },
  }
}
