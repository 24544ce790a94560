import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { ProcessEnding, ProcessState } from '../../ports/workspaces.ts'
import { insist, insistOnFolder } from './insist.ts'
import { appendPlain, readPlain, writePlain } from './plain-files.ts'

/** What is known of a command before it runs, and therefore whatever happens to it. */
export type Beginning = Omit<ProcessState, 'endedAt' | 'ending' | 'outputBytes'>
export type End = { endedAt: number; ending: ProcessEnding; dropped: number }
type Record = { beginning: Beginning; end?: End; outputBytes: number }

export type Spool = ReturnType<typeof newSpool>

/**
 * A folder for each command. Not synced: what must survive is the end of a process, not that of the machine. Commands can
 * write here too, so whatever is read may be nonsense and is then as if it were not there.
 */
export function newSpool(folder: string) {
  const processes = join(folder, 'processes')
  insistOnFolder(processes)

  /** Once more after a command changed what is here, or who may write. */
  function mended<T>(work: () => T): T {
    try {
      return work()
    } catch {
      chmodSync(folder, 0o700)
      insistOnFolder(processes)
      return work()
    }
  }

  const placeOf = (processId: string) => join(processes, processId)

  return {
    folder,
    /** Once this returns, the command counts as begun. */
    begin(beginning: Beginning): void {
      mended(() => {
        mkdirSync(placeOf(beginning.processId), { recursive: true, mode: 0o700 })
        writeWhole(join(placeOf(beginning.processId), 'beginning.json'), beginning)
      })
    },
    end(processId: string, end: End): void {
      mended(() => {
        mkdirSync(placeOf(processId), { recursive: true, mode: 0o700 })
        writeWhole(join(placeOf(processId), 'end.json'), end)
      })
    },
    remove(processId: string): void {
      mended(() => rmSync(placeOf(processId), { recursive: true, force: true }))
    },
    /** A fault of the supervisor itself, for whoever looks. */
    note(fault: unknown): void {
      try {
        const file = join(folder, 'faults.log')
        if (sizeOf(file) < MAX_FAULTS) appendPlain(file, `${(fault as Error)?.stack ?? fault}\n`)
      } catch {
        // There is nowhere else to say it.
      }
    },
    /** In place of a command that could not say anything itself. Returns how many bytes it takes. */
    say(processId: string, text: string): number {
      appendPlain(join(placeOf(processId), 'output'), text)
      return sizeOf(join(placeOf(processId), 'output'))
    },
    stateFile: (processId: string): string => join(placeOf(processId), 'state'),
    scriptFile: (processId: string): string => join(placeOf(processId), 'script'),
    outputFile: (processId: string): string => join(placeOf(processId), 'output'),
    /** Everything that was begun, oldest first. */
    read(): Record[] {
      const found = readdirSync(processes).map((name) => recordIn(placeOf(name), name))
      return found.filter((one) => one !== undefined).sort((a, b) => a.beginning.startedAt - b.beginning.startedAt)
    },
  }
}

const MAX_FAULTS = 64 * 1024

function recordIn(place: string, name: string): Record | undefined {
  const beginning = readValue<Beginning>(join(place, 'beginning.json'))
  if (!isBeginning(beginning) || beginning.processId !== name) return undefined
  const end = readValue<End>(join(place, 'end.json'))
  const outputBytes = sizeOf(join(place, 'output'))
  return { beginning, ...(isEnd(end) ? { end } : {}), outputBytes }
}

const isBeginning = (value: Beginning | undefined): value is Beginning =>
  value !== undefined &&
  typeof value.processId === 'string' &&
  typeof value.key === 'string' &&
  typeof value.command === 'string' &&
  typeof value.runId === 'string' &&
  typeof value.startedAt === 'number'

const isEnd = (value: End | undefined): value is End =>
  value !== undefined && typeof value.endedAt === 'number' && typeof value.ending?.type === 'string'

/** Whole or not at all. */
export const writeWhole = (file: string, value: unknown): void => writeWholeText(file, JSON.stringify(value))

export function writeWholeText(file: string, text: string): void {
  insist([`${file}.new`, file], () => {
    writePlain(`${file}.new`, text)
    renameSync(`${file}.new`, file)
  })
}

export function readValue<T>(file: string): T | undefined {
  try {
    const value = JSON.parse(readPlain(file))
    return typeof value === 'object' && value !== null ? (value as T) : undefined
  } catch {
    return undefined
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
