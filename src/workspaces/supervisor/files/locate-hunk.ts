import { FileRefusal } from './file-refusal.ts'
import type { Hunk } from './parse-patch.ts'

/** A line of the file. The ending is empty for a last line without one. */
export type FileLine = { text: string; ending: '' | '\n' | '\r\n' }

/** The file's lines, the end of the previous hunk, and that hunk's offset from its stated line. */
type HunkSearch = { file: FileLine[]; from: number; offset: number; number: number }

/** Comparisons for one hunk before the search stops: some ten milliseconds. */
const MAX_COMPARED = 2_000_000
const MAX_POSITIONS_SHOWN = 10

/** The index of the line where the hunk begins: the stated one, or its only match. */
export function locateHunk(hunk: Hunk, search: HunkSearch): number {
  const { file, from, offset, number } = search
  const stated = statedStart(hunk)
  const isMatch = (at: number) =>
    at >= from && hasRoom(hunk, file, at) && countMatchingLines(hunk, file, at) === hunk.old.length
  const expected = stated === undefined ? undefined : [stated + offset, stated].find(isMatch)
  if (expected !== undefined) return expected

  const name = `Hunk ${number} (${hunk.head})`
  const positions = findPositions(hunk, search)
  if (positions === 'too-many')
    throw new FileRefusal(
      'bad-patch',
      `${name} does not fit where it says, and there is too much to look for it elsewhere. Nothing was changed: give its right line.`,
    )
  if (positions.length === 1) return positions[0]!
  if (positions.length === 0)
    throw new FileRefusal('bad-patch', `${name} does not fit: ${explainMismatch(hunk, search)} Nothing was changed.`)
  const shown = positions.slice(0, MAX_POSITIONS_SHOWN).map((at) => at + 1)
  const more = positions.length > MAX_POSITIONS_SHOWN ? ', …' : ''
  throw new FileRefusal(
    'ambiguous',
    `${name} fits at lines ${shown.join(', ')}${more}, and not where it says. Nothing was changed: give the right line in its head or more lines around the change.`,
  )
}

/** As an index; for a hunk of new lines only, the index of the line they precede. */
export function statedStart(hunk: Hunk): number | undefined {
  if (hunk.start === undefined) return undefined
  return hunk.old.length === 0 ? hunk.start : Math.max(0, hunk.start - 1)
}

function findPositions(hunk: Hunk, { file, from }: HunkSearch): number[] | 'too-many' {
  // New lines without context match anywhere: only the stated line counts, unless the file is empty.
  if (hunk.old.length === 0) return file.length === 0 ? [0] : []
  const positions: number[] = []
  let compared = 0
  for (let at = from; at < file.length; at += 1) {
    if (!hasRoom(hunk, file, at)) continue
    const count = countMatchingLines(hunk, file, at)
    if (count === hunk.old.length) positions.push(at)
    compared += count + 1
    if (compared > MAX_COMPARED) return 'too-many'
  }
  return positions
}

/** Whether the hunk fits before the end of the file, or exactly at it if it states the end. */
function hasRoom({ old, saysEnd }: Hunk, file: FileLine[], at: number): boolean {
  const end = at + old.length
  return saysEnd ? end === file.length : end <= file.length
}

/** The number of lines that match before the first mismatch. */
function countMatchingLines({ old }: Hunk, file: FileLine[], at: number): number {
  let count = 0
  while (count < old.length && old[count]!.text === file[at + count]?.text) count += 1
  return count
}

/** Describes the best partial match and its first mismatching line. */
function explainMismatch(hunk: Hunk, { file, from, offset }: HunkSearch): string {
  const { old } = hunk
  if (old.length === 0) return `the file has only ${file.length} lines.`
  const stated = statedStart(hunk)
  let best = { at: Math.min(Math.max(from, (stated ?? 0) + offset), file.length), count: 0 }
  const last = Math.min(file.length, from + Math.ceil(MAX_COMPARED / old.length))
  for (let at = from; at < last; at += 1) {
    const count = old.filter((line, index) => line.text === file[at + index]?.text).length
    if (count > best.count) best = { at, count }
  }
  const index = old.findIndex((line, position) => line.text !== file[best.at + position]?.text)
  if (index === -1) return 'it says that it ends the file, and there it does not fit.'
  const wanted = JSON.stringify(old[index]!.text.slice(0, 200))
  const actual = file[best.at + index]
  const found =
    actual === undefined
      ? 'the file ends before it'
      : `line ${best.at + index + 1} of the file is ${JSON.stringify(actual.text.slice(0, 200))}`
  const isSpace = actual !== undefined && actual.text.replaceAll(/\s/g, '') === old[index]!.text.replaceAll(/\s/g, '')
  const after = from > 0 ? ` It was looked for from line ${from + 1} on, after the hunk before it.` : ''
  return `it wants ${wanted}, but ${found}${isSpace ? ' (they differ only in white space)' : ''}.${after}`
}
