import { FileRefusal } from './file-refusal.ts'
import type { Hunk } from './parse-patch.ts'

/** A line as the file has it: its text, and what ends it, which is nothing for a last line without an ending. */
export type FileLine = { text: string; ending: '' | '\n' | '\r\n' }

/** The lines of the file, where the hunk before ended, and how far that was from where it said. */
type HunkSearch = { file: FileLine[]; from: number; offset: number; number: number }

/** Lines that are compared for one hunk before it is given up: some ten milliseconds. */
const MOST_COMPARED = 2_000_000
const MOST_TOLD = 10

/** The index of the file's line where the hunk begins: where it says, or the only place where it fits. */
export function locateHunk(hunk: Hunk, search: HunkSearch): number {
  const { file, from, offset, number } = search
  const stated = statedStart(hunk)
  const isPlace = (at: number) => at >= from && isAllowed(hunk, file, at) && fitting(hunk, file, at) === hunk.old.length
  const likely = stated === undefined ? undefined : [stated + offset, stated].find(isPlace)
  if (likely !== undefined) return likely

  const name = `Hunk ${number} (${hunk.head})`
  const places = placesOf(hunk, search)
  if (places === 'too-many')
    throw new FileRefusal(
      'bad-patch',
      `${name} does not fit where it says, and there is too much to look for it elsewhere. Nothing was changed: give its right line.`,
    )
  if (places.length === 1) return places[0]!
  if (places.length === 0)
    throw new FileRefusal('bad-patch', `${name} does not fit: ${whyNot(hunk, search)} Nothing was changed.`)
  const told = places.slice(0, MOST_TOLD).map((at) => at + 1)
  const more = places.length > MOST_TOLD ? ', …' : ''
  throw new FileRefusal(
    'ambiguous',
    `${name} fits at lines ${told.join(', ')}${more}, and not where it says. Nothing was changed: give the right line in its head or more lines around the change.`,
  )
}

/** As an index; for nothing but new lines, that of the line they come before. */
export function statedStart(hunk: Hunk): number | undefined {
  if (hunk.start === undefined) return undefined
  return hunk.old.length === 0 ? hunk.start : Math.max(0, hunk.start - 1)
}

function placesOf(hunk: Hunk, { file, from }: HunkSearch): number[] | 'too-many' {
  // Without a line to recognize, new lines fit anywhere: only the stated place counts, unless the file is empty.
  if (hunk.old.length === 0) return file.length === 0 ? [0] : []
  const places: number[] = []
  let compared = 0
  for (let at = from; at < file.length; at += 1) {
    if (!isAllowed(hunk, file, at)) continue
    const count = fitting(hunk, file, at)
    if (count === hunk.old.length) places.push(at)
    compared += count + 1
    if (compared > MOST_COMPARED) return 'too-many'
  }
  return places
}

/** Whether there is room for it, and it is at the end of the file if it speaks of that. */
function isAllowed({ old, saysEnd }: Hunk, file: FileLine[], at: number): boolean {
  const end = at + old.length
  return saysEnd ? end === file.length : end <= file.length
}

/** How many of its lines fit before one does not. */
function fitting({ old }: Hunk, file: FileLine[], at: number): number {
  let count = 0
  while (count < old.length && old[count]!.text === file[at + count]?.text) count += 1
  return count
}

/** Where most of its lines fit, and the first one that does not. */
function whyNot(hunk: Hunk, { file, from, offset }: HunkSearch): string {
  const { old } = hunk
  if (old.length === 0) return `the file has only ${file.length} lines.`
  const stated = statedStart(hunk)
  let best = { at: Math.min(Math.max(from, (stated ?? 0) + offset), file.length), count: 0 }
  const last = Math.min(file.length, from + Math.ceil(MOST_COMPARED / old.length))
  for (let at = from; at < last; at += 1) {
    const count = old.filter((line, index) => line.text === file[at + index]?.text).length
    if (count > best.count) best = { at, count }
  }
  const index = old.findIndex((line, place) => line.text !== file[best.at + place]?.text)
  if (index === -1) return 'it says that it ends the file, and there it does not fit.'
  const wanted = JSON.stringify(old[index]!.text.slice(0, 200))
  const there = file[best.at + index]
  const found =
    there === undefined
      ? 'the file ends before it'
      : `line ${best.at + index + 1} of the file is ${JSON.stringify(there.text.slice(0, 200))}`
  const isSpace = there !== undefined && there.text.replaceAll(/\s/g, '') === old[index]!.text.replaceAll(/\s/g, '')
  const after = from > 0 ? ` It was looked for from line ${from + 1} on, after the hunk before it.` : ''
  return `it wants ${wanted}, but ${found}${isSpace ? ' (they differ only in white space)' : ''}.${after}`
}
