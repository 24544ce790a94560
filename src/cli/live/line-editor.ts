import { graphemesOf } from './text-width.ts'

/** One thing the cursor moves over: a character, or a pasted text that is shown as a placeholder. */
type Cell = { text: string; placeholder?: string }

/** The text being typed. `cursor` is the cell before which the next character goes. */
export type Editor = { cells: readonly Cell[]; cursor: number }

export const EMPTY_EDITOR: Editor = { cells: [], cursor: 0 }

export const textOfEditor = ({ cells }: Editor): string => cells.map(({ text }) => text).join('')

export const isEmpty = ({ cells }: Editor): boolean => cells.length === 0

export const editorWith = (text: string): Editor => {
  const cells = cellsOf(text)
  return { cells, cursor: cells.length }
}

const cellsOf = (text: string): Cell[] => graphemesOf(text).map((one) => ({ text: one === '\r\n' ? '\n' : one }))

export function insertText({ cells, cursor }: Editor, text: string): Editor {
  // A joiner or an accent belongs to the character before it.
  const before = cells[cursor - 1]
  const joins = before && !before.placeholder && before.text !== '\n'
  const kept = cells.slice(0, joins ? cursor - 1 : cursor)
  const added = cellsOf(joins ? before.text + text : text)
  return { cells: [...kept, ...added, ...cells.slice(cursor)], cursor: kept.length + added.length }
}

/** Pasted texts up to this size are shown as they are. */
const MAX_SHOWN_LINES = 5
const MAX_SHOWN_CHARACTERS = 1_000

/** A pasted text is part of the message; a long one takes one place in the input line. */
export function insertPaste(editor: Editor, pasted: string): Editor {
  const text = pasted.replaceAll('\r\n', '\n').replaceAll('\r', '\n')
  const lines = text.replace(/\n$/, '').split('\n').length
  if (lines <= MAX_SHOWN_LINES && text.length <= MAX_SHOWN_CHARACTERS) return insertText(editor, text)
  const what = lines > 1 ? `${lines} lines` : `${text.length} characters`
  const { cells, cursor } = editor
  const cell: Cell = { text, placeholder: `[Pasted: ${what}]` }
  return { cells: [...cells.slice(0, cursor), cell, ...cells.slice(cursor)], cursor: cursor + 1 }
}

/** Removes the cells between two positions, in either order. */
function removed({ cells, cursor }: Editor, other: number): Editor {
  const from = Math.min(cursor, other)
  const to = Math.max(cursor, other)
  return { cells: [...cells.slice(0, from), ...cells.slice(to)], cursor: from }
}

const isNewline = (cell: Cell | undefined): boolean => cell?.text === '\n'
const isWordCell = (cell: Cell | undefined): boolean => cell !== undefined && /[\p{L}\p{N}_]/u.test(cell.text)

function lineStart({ cells, cursor }: Editor): number {
  let at = cursor
  while (at > 0 && !isNewline(cells[at - 1])) at -= 1
  return at
}

function lineEnd({ cells, cursor }: Editor): number {
  let at = cursor
  while (at < cells.length && !isNewline(cells[at])) at += 1
  return at
}

function wordLeft({ cells, cursor }: Editor): number {
  let at = cursor
  while (at > 0 && !isWordCell(cells[at - 1])) at -= 1
  while (at > 0 && isWordCell(cells[at - 1])) at -= 1
  return at
}

/** As in a shell, a word ends at a space. */
function shellWordLeft({ cells, cursor }: Editor): number {
  let at = cursor
  const isSpace = (cell: Cell | undefined) => cell !== undefined && /^\s/.test(cell.text)
  while (at > 0 && isSpace(cells[at - 1])) at -= 1
  while (at > 0 && !isSpace(cells[at - 1])) at -= 1
  return at
}

function wordRight({ cells, cursor }: Editor): number {
  let at = cursor
  while (at < cells.length && !isWordCell(cells[at])) at += 1
  while (at < cells.length && isWordCell(cells[at])) at += 1
  return at
}

const movedTo = (editor: Editor, cursor: number): Editor => ({
  ...editor,
  cursor: Math.max(0, Math.min(editor.cells.length, cursor)),
})

/** The same column in the line above or below; undefined if there is none. */
export function movedByLine(editor: Editor, by: 'up' | 'down'): Editor | undefined {
  const start = lineStart(editor)
  const column = editor.cursor - start
  if (by === 'up') {
    if (start === 0) return undefined
    const above = lineStart({ ...editor, cursor: start - 1 })
    return movedTo(editor, Math.min(above + column, start - 1))
  }
  const end = lineEnd(editor)
  if (end === editor.cells.length) return undefined
  return movedTo(editor, Math.min(end + 1 + column, lineEnd({ ...editor, cursor: end + 1 })))
}

/** What each editing key does. The names are those of readline: `ctrl+a`, `meta+b`. */
export const EDITS: Readonly<Record<string, (editor: Editor) => Editor>> = {
  left: (editor) => movedTo(editor, editor.cursor - 1),
  right: (editor) => movedTo(editor, editor.cursor + 1),
  'ctrl+b': (editor) => movedTo(editor, editor.cursor - 1),
  'ctrl+f': (editor) => movedTo(editor, editor.cursor + 1),
  home: (editor) => movedTo(editor, lineStart(editor)),
  end: (editor) => movedTo(editor, lineEnd(editor)),
  'ctrl+a': (editor) => movedTo(editor, lineStart(editor)),
  'ctrl+e': (editor) => movedTo(editor, lineEnd(editor)),
  'meta+b': (editor) => movedTo(editor, wordLeft(editor)),
  'meta+f': (editor) => movedTo(editor, wordRight(editor)),
  'ctrl+left': (editor) => movedTo(editor, wordLeft(editor)),
  'ctrl+right': (editor) => movedTo(editor, wordRight(editor)),
  'meta+left': (editor) => movedTo(editor, wordLeft(editor)),
  'meta+right': (editor) => movedTo(editor, wordRight(editor)),
  backspace: (editor) => removed(editor, Math.max(0, editor.cursor - 1)),
  'ctrl+h': (editor) => removed(editor, Math.max(0, editor.cursor - 1)),
  delete: (editor) => removed(editor, Math.min(editor.cells.length, editor.cursor + 1)),
  'ctrl+u': (editor) => removed(editor, lineStart(editor)),
  'ctrl+k': (editor) => removed(editor, lineEnd(editor)),
  'ctrl+w': (editor) => removed(editor, shellWordLeft(editor)),
  'meta+backspace': (editor) => removed(editor, wordLeft(editor)),
  'meta+d': (editor) => removed(editor, wordRight(editor)),
  'ctrl+j': (editor) => insertText(editor, '\n'),
  'meta+return': (editor) => insertText(editor, '\n'),
  'meta+enter': (editor) => insertText(editor, '\n'),
  'shift+return': (editor) => insertText(editor, '\n'),
}

/** A backslash at the end of the line is a line break, as in a shell; undefined if there is none. */
export function continuedLine(editor: Editor): Editor | undefined {
  const { cells, cursor } = editor
  if (cursor !== cells.length || cells.at(-1)?.text !== '\\') return undefined
  return insertText({ cells: cells.slice(0, -1), cursor: cursor - 1 }, '\n')
}
