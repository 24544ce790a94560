import { join } from 'node:path'
import { DAY_MS } from '../../core/duration.ts'
import type { ProcessState } from '../../ports/workspaces.ts'
import { appendPlain, readPlain, writePlain } from './plain-files.ts'

const MAX_KEPT = 64
const MAX_AGE_MS = 7 * DAY_MS
/** Of all outputs together; the oldest are pruned first. */
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024

type Prunable = { end?: { endedAt: number }; outputBytes: number; collector?: { written: number } }

/** Ended commands that are to be removed with their output. */
export function findPrunable<Entry extends Prunable>(entries: Entry[], now: number): Entry[] {
  const ended = entries.filter((entry) => entry.end).sort((a, b) => b.end!.endedAt - a.end!.endedAt)
  let bytes = 0
  return ended.filter((entry, position) => {
    bytes += entry.collector?.written ?? entry.outputBytes
    return position >= MAX_KEPT || now - entry.end!.endedAt > MAX_AGE_MS || (position > 0 && bytes > MAX_OUTPUT_BYTES)
  })
}

const MAX_REMEMBERED = 1000
const MAX_COMMAND_CHARACTERS = 200
/** Several times what is kept; it is rewritten at each start. */
const MAX_LOG_BYTES = 16 * 1024 * 1024

/** The final states of pruned commands: a key must never run twice, even if it is repeated late. */
export function newPrunedLog(folder: string) {
  const file = join(folder, 'pruned.jsonl')
  const known = new Map<string, ProcessState>()
  for (const line of readLines(file).slice(-MAX_REMEMBERED)) {
    const state = parseState(line)
    if (state) known.set(state.key, state)
  }
  if (known.size > 0) writePlain(file, [...known.values()].map((state) => `${JSON.stringify(state)}\n`).join(''))

  return {
    find: (key: string): ProcessState | undefined => known.get(key),
    add(state: ProcessState): void {
      const short = { ...state, command: state.command.slice(0, MAX_COMMAND_CHARACTERS), outputBytes: 0 }
      known.set(short.key, short)
      const [oldest] = known.keys()
      if (known.size > MAX_REMEMBERED && oldest !== undefined) known.delete(oldest)
      appendPlain(file, `${JSON.stringify(short)}\n`)
    },
  }
}

function readLines(file: string): string[] {
  try {
    return readPlain(file, MAX_LOG_BYTES).split('\n').filter(Boolean)
  } catch {
    return []
  }
}

function parseState(line: string): ProcessState | undefined {
  try {
    const state = JSON.parse(line) as ProcessState
    return typeof state.key === 'string' && typeof state.processId === 'string' ? state : undefined
  } catch {
    return undefined
  }
}
