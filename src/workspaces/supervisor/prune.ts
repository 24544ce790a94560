import { join } from 'node:path'
import { DAY_MS } from '../../core/duration.ts'
import type { ProcessState } from '../../ports/workspaces.ts'
import { appendPlain, readPlain, writePlain } from './plain-files.ts'

const KEPT = 64
const KEPT_MS = 7 * DAY_MS
/** Of all outputs together; the oldest go first. */
const KEPT_BYTES = 256 * 1024 * 1024

type Prunable = { end?: { endedAt: number }; outputBytes: number; collector?: { written: number } }

/** Commands that ended and are to be forgotten with what they said. */
export function findPrunable<Entry extends Prunable>(entries: Entry[], now: number): Entry[] {
  const ended = entries.filter((entry) => entry.end).sort((a, b) => b.end!.endedAt - a.end!.endedAt)
  let bytes = 0
  return ended.filter((entry, place) => {
    bytes += entry.collector?.written ?? entry.outputBytes
    return place >= KEPT || now - entry.end!.endedAt > KEPT_MS || (place > 0 && bytes > KEPT_BYTES)
  })
}

const REMEMBERED = 1000
const COMMAND_KEPT = 200

/** What became of commands that are forgotten otherwise: the same key must never run twice, however late it is asked again. */
export function newPrunedLog(folder: string) {
  const file = join(folder, 'pruned.jsonl')
  const known = new Map<string, ProcessState>()
  for (const line of linesOf(file).slice(-REMEMBERED)) {
    const state = parsed(line)
    if (state) known.set(state.key, state)
  }
  if (known.size > 0) writePlain(file, [...known.values()].map((state) => `${JSON.stringify(state)}\n`).join(''))

  return {
    find: (key: string): ProcessState | undefined => known.get(key),
    add(state: ProcessState): void {
      const short = { ...state, command: state.command.slice(0, COMMAND_KEPT), outputBytes: 0 }
      known.set(short.key, short)
      const [oldest] = known.keys()
      if (known.size > REMEMBERED && oldest !== undefined) known.delete(oldest)
      appendPlain(file, `${JSON.stringify(short)}\n`)
    },
  }
}

function linesOf(file: string): string[] {
  try {
    return readPlain(file).split('\n').filter(Boolean)
  } catch {
    return []
  }
}

function parsed(line: string): ProcessState | undefined {
  try {
    const state = JSON.parse(line) as ProcessState
    return typeof state.key === 'string' && typeof state.processId === 'string' ? state : undefined
  } catch {
    return undefined
  }
}
