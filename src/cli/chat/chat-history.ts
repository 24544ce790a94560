import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type ChatHistory = { size: number; load(): string[]; save(lines: readonly string[]): void }

const SIZE = 500

/** Input history: newest first for readline, oldest first in the file. */
export function chatHistory(home: string): ChatHistory {
  const path = join(home, 'chat-history')
  return {
    size: SIZE,
    load() {
      try {
        return readFileSync(path, 'utf8').split('\n').filter(Boolean).reverse().slice(0, SIZE)
      } catch {
        // Missing or unreadable: the history for the arrow keys starts empty.
        return []
      }
    },
    save(lines) {
      try {
        writeFileSync(path, [...lines].reverse().join('\n'), { mode: 0o600 })
      } catch {
        // The history is only a convenience: a full disk must not end the chat.
      }
    },
  }
}
