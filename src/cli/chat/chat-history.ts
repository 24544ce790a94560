import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFileSync } from '../../disk/atomic-write.ts'

/** What was typed before, oldest first. */
export type ChatHistory = { load(): string[]; add(entry: string): void }

const MAX_ENTRIES = 500
const MAX_CHARACTERS = 256 * 1024

/** A file of the home that all chats share. A line break inside an entry is a backslash at the end of its line. */
export function chatHistory(home: string): ChatHistory {
  const path = join(home, 'chat-history')
  const load = (): string[] => {
    try {
      return parseHistory(readFileSync(path, 'utf8'))
    } catch {
      // Missing or unreadable: the history for the arrow keys starts empty.
      return []
    }
  }
  return {
    load,
    add(entry) {
      try {
        // Read again: another chat of this home may have added entries.
        replaceFileSync(path, formatHistory(withEntry(load(), entry)))
      } catch {
        // The history is only a convenience: a full disk must not end the chat.
      }
    },
  }
}

/** The newest entries within the bounds, each once. */
export function withEntry(entries: readonly string[], entry: string): string[] {
  if (entry.trim() === '' || entry.length > MAX_CHARACTERS / 4) return [...entries]
  const all = [...entries.filter((one) => one !== entry), entry].slice(-MAX_ENTRIES)
  let size = all.reduce((sum, one) => sum + one.length, 0)
  while (size > MAX_CHARACTERS) size -= all.shift()!.length
  return all
}

export const formatHistory = (entries: readonly string[]): string =>
  entries
    // A backslash at the end would join the entry with the next one.
    .map((entry) => `${entry.replace(/\\$/, '\\ ').replaceAll('\n', '\\\n')}\n`)
    .join('')

export function parseHistory(text: string): string[] {
  const entries: string[] = []
  let entry = ''
  for (const line of text.split('\n')) {
    if (line.endsWith('\\')) {
      entry += `${line.slice(0, -1)}\n`
      continue
    }
    if (entry + line !== '') entries.push(entry + line)
    entry = ''
  }
  return entries.slice(-MAX_ENTRIES)
}
