import { FileRefusal } from './file-refusal.ts'
import { countOf, normalizeLineEndings, originalText, withUsualEndings } from './line-endings.ts'
import { describeNearest } from './nearest-text.ts'

export type EditedText = { text: string; replacements: number; line: number }
type ReplaceTextOptions = { find: string; replace: string; all: boolean }

const MOST_LINES_TOLD = 20
const MOST_COUNTED = 10_000
/** No file that may be edited has more. */
const MOST_CHARACTERS = 8 * 1024 * 1024

/** Exact but for line endings, which stay as the file has them. */
export function replaceText(text: string, { find, replace, all }: ReplaceTextOptions): EditedText {
  const file = normalizeLineEndings(text)
  const sought = find.replaceAll('\r\n', '\n')
  if (sought === '')
    throw new FileRefusal('not-found-in-file', 'The text to find is empty. Give some text that is in the file.')
  if (sought === replace.replaceAll('\r\n', '\n'))
    throw new FileRefusal('refused', 'The text to find and its replacement are the same: there is nothing to change.')

  const first = file.text.indexOf(sought)
  if (first === -1) throw new FileRefusal('not-found-in-file', describeNearest(file.text, sought))
  if (!all && file.text.indexOf(sought, first + 1) !== -1) throw ambiguous(file.text, sought)

  const replacements = all ? countOf(file.text, sought) : 1
  const replacement = withUsualEndings(file, replace)
  if (text.length + replacements * (replacement.length - sought.length) > MOST_CHARACTERS)
    throw new FileRefusal(
      'too-large',
      `The file would have more than ${MOST_CHARACTERS} characters. Nothing was changed.`,
    )
  const pieces: string[] = []
  let end = 0
  for (let at = first; at !== -1 && pieces.length < 2 * replacements; at = file.text.indexOf(sought, end)) {
    pieces.push(originalText(file, end, at), replacement)
    end = at + sought.length
  }
  pieces.push(originalText(file, end, file.text.length))
  return { text: pieces.join(''), replacements, line: lineAt(file.text, first) }
}

/** Places that overlap count too: which of them is meant cannot be known. */
function ambiguous(text: string, sought: string): FileRefusal {
  const lines: number[] = []
  let count = 0
  for (let at = text.indexOf(sought); at !== -1; at = text.indexOf(sought, at + 1)) {
    if (count < MOST_LINES_TOLD) lines.push(lineAt(text, at))
    count += 1
    if (count >= MOST_COUNTED) break
  }
  const often = count < MOST_COUNTED ? `${count} times` : `${count} times and more`
  const more = count > MOST_LINES_TOLD ? ', …' : ''
  const words = `The text was found ${often}, in lines ${lines.join(', ')}${more}. Nothing was changed: give more of the text around the place you mean, or ask for all of them.`
  return new FileRefusal('ambiguous', words)
}

const lineAt = (text: string, at: number): number => countOf(text.slice(0, at), '\n') + 1
