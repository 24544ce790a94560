/** What both ways to search leave out, and where both of them stop. */
export const SKIPPED_FOLDERS = ['.git', 'node_modules']
export const MOST_OF_FILE = 4 * 1024 * 1024
export const SEARCH_MILLISECONDS = 20_000
export const USUAL_MATCHES = 200
export const MOST_MATCHES = 1_000

type Found = { path: string; line: number; text: string }

/** Paths are from where the search began. */
export type SearchResult = { matches: Found[]; cutBy?: 'matches' | 'time' }

const MOST_SHOWN = 300
const BEFORE = 60

/** Of a long line the part around what was found. */
export function partAround(text: string, at: number): string {
  if (text.length <= MOST_SHOWN) return text
  const start = Math.max(0, Math.min(at - BEFORE, text.length - MOST_SHOWN))
  const part = text.slice(start, start + MOST_SHOWN).toWellFormed()
  return `${start > 0 ? '…' : ''}${part}${start + MOST_SHOWN < text.length ? '…' : ''}`
}
