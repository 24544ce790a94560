import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type ChatHistory = { size: number; load(): string[]; save(lines: readonly string[]): void }

const SIZE = 500

/** What was typed before, newest first as readline wants it; in the file oldest first, as people read. */
export function chatHistory(home: string): ChatHistory {
  const path = join(home, 'chat-history')
  return {
    size: SIZE,
    load() {
      try {
        return readFileSync(path, 'utf8').split('\n').filter(Boolean).reverse().slice(0, SIZE)
      } catch {
        // There is none yet, or it cannot be read: the arrow keys then start empty, which is all it is for.
        return []
      }
    },
    save(lines) {
      try {
        writeFileSync(path, [...lines].reverse().join('\n'), { mode: 0o600 })
      } catch {
        // A convenience: a full disk must not end the chat.
      }
    },
  }
}
