/** Limits of both search implementations, and what both skip. */
export const SKIPPED_FOLDERS = ['.git', 'node_modules']
export const MAX_FILE_BYTES = 4 * 1024 * 1024
export const SEARCH_MILLISECONDS = 20_000
export const DEFAULT_MATCHES = 200
export const MAX_MATCHES = 1_000

export type FileMatch = { path: string; line: number; text: string }

/** Paths are relative to the start of the search. */
export type SearchResult = { matches: FileMatch[]; cutBy?: 'matches' | 'time' }

const MAX_SHOWN = 300
const BEFORE = 60

/** The part of a long line around the match. */
export function excerptAround(text: string, at: number): string {
  if (text.length <= MAX_SHOWN) return text
  const start = Math.max(0, Math.min(at - BEFORE, text.length - MAX_SHOWN))
  const part = text.slice(start, start + MAX_SHOWN).toWellFormed()
  return `${start > 0 ? '…' : ''}${part}${start + MAX_SHOWN < text.length ? '…' : ''}`
}
