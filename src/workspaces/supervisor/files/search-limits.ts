/** What both ways to search leave out, and where both of them stop. */
export const SKIPPED_FOLDERS = ['.git', 'node_modules']
export const MAX_FILE_BYTES = 4 * 1024 * 1024
export const SEARCH_MILLISECONDS = 20_000
export const DEFAULT_MATCHES = 200
export const MAX_MATCHES = 1_000

type FileMatch = { path: string; line: number; text: string }

/** Paths are from where the search began. */
export type SearchResult = { matches: FileMatch[]; cutBy?: 'matches' | 'time' }

const MOST_SHOWN = 300
const BEFORE = 60

/** Of a long line the part around what was found. */
export function excerptAround(text: string, at: number): string {
  if (text.length <= MOST_SHOWN) return text
  const start = Math.max(0, Math.min(at - BEFORE, text.length - MOST_SHOWN))
  const part = text.slice(start, start + MOST_SHOWN).toWellFormed()
  return `${start > 0 ? '…' : ''}${part}${start + MOST_SHOWN < text.length ? '…' : ''}`
}
