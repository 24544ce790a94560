import type { ReadFile } from '../../../ports/workspace-files.ts'
import { lineEndingOf } from './line-endings.ts'

/** Of one answer, so that it fits into a model's context. */
const MAX_CHARACTERS = 60_000
const MAX_LINE_CHARACTERS = 2_000

/** Reads a text piece by piece, keeps the requested lines and counts the others. */
export function collectLines({ from, count }: { from: number; count: number }) {
  const kept: string[] = []
  let room = MAX_CHARACTERS
  let isFull = false
  let feeds = 0
  let returns = 0
  let line = { text: '', length: 0, last: '' }

  const isWanted = () => !isFull && feeds + 1 >= from && feeds + 1 < from + count

  const extend = (part: string) => {
    if (part === '') return
    if (line.text.length < MAX_LINE_CHARACTERS && isWanted())
      line.text += part.slice(0, MAX_LINE_CHARACTERS - line.text.length + 1)
    line.length += part.length
    line.last = part.at(-1)!
  }

  const finish = () => {
    const isReturned = line.last === '\r'
    if (isReturned) returns += 1
    if (isWanted()) keep(shortenLine(line, isReturned ? 1 : 0))
  }

  const keep = (text: string) => {
    if (kept.length > 0 && text.length + 1 > room) {
      isFull = true
      return
    }
    kept.push(text)
    room -= text.length + 1
  }

  return {
    add(text: string): void {
      let start = 0
      for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
        if (line.length > 0 || isWanted()) {
          extend(text.slice(start, end))
          finish()
          line = { text: '', length: 0, last: '' }
        } else if (end > start && text[end - 1] === '\r') returns += 1
        feeds += 1
        start = end + 1
      }
      extend(text.slice(start))
    },
    end(bytes: number): ReadFile {
      const isTerminated = line.length === 0
      if (!isTerminated && isWanted()) keep(shortenLine(line, 0))
      return {
        text: kept.join('\n'),
        from,
        lines: kept.length,
        totalLines: feeds + (isTerminated ? 0 : 1),
        bytes,
        lineEnding: lineEndingOf(feeds, returns),
        isTerminated,
      }
    },
  }
}

/** `ending`: number of characters at the end that are the line's ending. */
function shortenLine(line: { text: string; length: number }, ending: number): string {
  const length = line.length - ending
  if (length <= MAX_LINE_CHARACTERS) return line.text.slice(0, length)
  const end = isHigh(line.text.charCodeAt(MAX_LINE_CHARACTERS - 1)) ? MAX_LINE_CHARACTERS - 1 : MAX_LINE_CHARACTERS
  return `${line.text.slice(0, end)}… [cut: this line has ${length - end} more characters]`
}

/** A high surrogate, the first half of a pair. */
const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
