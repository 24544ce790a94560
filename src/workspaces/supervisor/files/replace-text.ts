import { FileRefusal } from './file-refusal.ts'
import { countOf, normalizeLineEndings, originalText, withUsualEndings } from './line-endings.ts'
import { describeNearest } from './nearest-text.ts'

export type EditedText = { text: string; replacements: number; line: number }
type ReplaceTextOptions = { find: string; replace: string; all: boolean }

const MAX_LINES_SHOWN = 20
const MAX_COUNTED = 10_000
/** The limit of editable files. */
const MAX_CHARACTERS = 8 * 1024 * 1024

/** Matches exactly except for line endings, which stay as the file has them. */
export function replaceText(text: string, { find, replace, all }: ReplaceTextOptions): EditedText {
  const file = normalizeLineEndings(text)
  const wanted = find.replaceAll('\r\n', '\n')
  if (wanted === '')
    throw new FileRefusal('not-found-in-file', 'The text to find is empty. Give some text that is in the file.')
  if (wanted === replace.replaceAll('\r\n', '\n'))
    throw new FileRefusal('refused', 'The text to find and its replacement are the same: there is nothing to change.')

  const first = file.text.indexOf(wanted)
  if (first === -1) throw new FileRefusal('not-found-in-file', describeNearest(file.text, wanted))
  if (!all && file.text.indexOf(wanted, first + 1) !== -1) throw ambiguousError(file.text, wanted)

  const replacements = all ? countOf(file.text, wanted) : 1
  const replacement = withUsualEndings(file, replace)
  if (text.length + replacements * (replacement.length - wanted.length) > MAX_CHARACTERS)
    throw new FileRefusal(
      'too-large',
      `The file would have more than ${MAX_CHARACTERS} characters. Nothing was changed.`,
    )
  const pieces: string[] = []
  let end = 0
  for (let at = first; at !== -1 && pieces.length < 2 * replacements; at = file.text.indexOf(wanted, end)) {
    pieces.push(originalText(file, end, at), replacement)
    end = at + wanted.length
  }
  pieces.push(originalText(file, end, file.text.length))
  return { text: pieces.join(''), replacements, line: lineAt(file.text, first) }
}

/** Overlapping matches count too: it is unknown which one is meant. */
function ambiguousError(text: string, wanted: string): FileRefusal {
  const lines: number[] = []
  let count = 0
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) {
    if (count < MAX_LINES_SHOWN) lines.push(lineAt(text, at))
    count += 1
    if (count >= MAX_COUNTED) break
  }
  const often = count < MAX_COUNTED ? `${count} times` : `${count} times and more`
  const more = count > MAX_LINES_SHOWN ? ', …' : ''
  const message = `The text was found ${often}, in lines ${lines.join(', ')}${more}. Nothing was changed: give more of the text around the place you mean, or ask for all of them.`
  return new FileRefusal('ambiguous', message)
}

const lineAt = (text: string, at: number): number => countOf(text.slice(0, at), '\n') + 1
