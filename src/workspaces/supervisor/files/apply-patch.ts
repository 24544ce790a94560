import { FileRefusal } from './file-refusal.ts'
import { countOf, normalizeLineEndings } from './line-endings.ts'
import { type FileLine, locateHunk, statedStart } from './locate-hunk.ts'
import { type Hunk, parsePatch } from './parse-patch.ts'
import type { EditedText } from './replace-text.ts'

/** Each line is a separate object while the patch is applied. */
const MAX_LINES = 500_000

/**
 * Applies all hunks or none. Each must match exactly, except for line endings, which stay as the file has them: at its
 * stated line, at that line shifted like the previous hunk, or at the only other match further down.
 */
export function applyPatch(text: string, patch: string): EditedText {
  const hunks = parsePatch(patch)
  const { usual } = normalizeLineEndings(text)
  if (countOf(text, '\n') > MAX_LINES)
    throw new FileRefusal(
      'too-large',
      `A patch is for files of up to ${MAX_LINES} lines. Nothing was changed: use find and replace.`,
    )
  const file = splitLines(text)
  const patched: FileLine[] = []
  let done = 0
  let offset = 0
  let firstChange: number | undefined
  for (const [index, hunk] of hunks.entries()) {
    const at = locateHunk(hunk, { file, from: done, offset, number: index + 1 })
    const stated = statedStart(hunk)
    if (stated !== undefined) offset = at - stated
    for (const line of file.slice(done, at)) patched.push(line)
    firstChange ??= patched.length + 1 + hunk.lines.findIndex((line) => line.sign !== ' ')
    for (const line of newLines(hunk, { old: file.slice(at, at + hunk.old.length), usual })) patched.push(line)
    done = at + hunk.old.length
    if (done === file.length) setFinalEnding(patched, { hunk, wasTerminated: file.at(-1)?.ending !== '', usual })
  }
  for (const line of file.slice(done)) patched.push(line)
  // A former last line without an ending may now be followed by others.
  const result = patched
    .map(({ text, ending }, index) => text + (index < patched.length - 1 ? ending || usual : ending))
    .join('')
  if (result === text)
    throw new FileRefusal('refused', 'The patch leaves the file as it is: there is nothing to change.')
  return { text: result, replacements: hunks.length, line: firstChange! }
}

/** Context lines keep their endings; new ones get the usual one. */
function newLines(hunk: Hunk, { old, usual }: { old: FileLine[]; usual: '\n' | '\r\n' }): FileLine[] {
  const lines: FileLine[] = []
  let at = 0
  for (const { sign, text } of hunk.lines) {
    if (sign === '+') lines.push({ text, ending: usual })
    if (sign === ' ') lines.push({ text, ending: old[at]!.ending })
    if (sign !== '+') at += 1
  }
  return lines
}

/** A hunk at the end of the file may state whether the last line is terminated; otherwise that stays as it was. */
function setFinalEnding(lines: FileLine[], end: { hunk: Hunk; wasTerminated: boolean; usual: '\n' | '\r\n' }): void {
  const last = lines.at(-1)
  if (!last) return
  const saysUnterminated = end.hunk.lines.some((line) => line.sign !== '-' && line.isUnterminated)
  const isTerminated = end.hunk.saysEnd ? !saysUnterminated : end.wasTerminated
  if (!isTerminated) last.ending = ''
  else if (last.ending === '') last.ending = end.usual
}

function splitLines(text: string): FileLine[] {
  const lines = text.split('\n').map((line, index, all): FileLine => {
    if (index === all.length - 1) return { text: line, ending: '' }
    return line.endsWith('\r') ? { text: line.slice(0, -1), ending: '\r\n' } : { text: line, ending: '\n' }
  })
  if (lines.at(-1)!.text === '') lines.pop()
  return lines
}
