import type { LineEnding } from '../../../ports/workspace-files.ts'

/** A text with line feeds only, and its original line endings. Searching and patching use this form. */
type NormalizedText = {
  text: string
  /** Offsets in `text` of the line feeds that had a carriage return before them, in order. */
  returns: number[]
  /** The ending of most lines, used for added lines. */
  usual: '\n' | '\r\n'
}

export function normalizeLineEndings(text: string): NormalizedText {
  const returns: number[] = []
  for (let at = text.indexOf('\r\n'); at !== -1; at = text.indexOf('\r\n', at + 2)) returns.push(at - returns.length)
  if (returns.length === 0) return { text, returns, usual: '\n' }
  const unified = text.replaceAll('\r\n', '\n')
  return { text: unified, returns, usual: returns.length * 2 > countOf(unified, '\n') ? '\r\n' : '\n' }
}

/** A part of the text with its original line endings. */
export function originalText({ text, returns }: NormalizedText, from: number, to: number): string {
  let was = ''
  let at = from
  for (let index = lowerBound(returns, from); index < returns.length && returns[index]! < to; index += 1) {
    was += `${text.slice(at, returns[index])}\r\n`
    at = returns[index]! + 1
  }
  return was + text.slice(at, to)
}

/** New text with the usual line ending of the file. */
export const withUsualEndings = ({ usual }: NormalizedText, text: string): string => {
  const unified = text.replaceAll('\r\n', '\n')
  return usual === '\n' ? unified : unified.replaceAll('\n', '\r\n')
}

export function lineEndingOf(feeds: number, returns: number): LineEnding {
  if (returns === 0) return 'lf'
  return feeds === returns ? 'crlf' : 'mixed'
}

export function countOf(text: string, part: string): number {
  let count = 0
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) count += 1
  return count
}

/** The first index whose value is `from` or more; binary search. */
function lowerBound(sorted: number[], from: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! < from) low = middle + 1
    else high = middle
  }
  return low
}
