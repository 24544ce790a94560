import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { defined } from '../../core/defined.ts'
import type { ProcessEnding, ProcessState } from '../../ports/workspaces.ts'
import { ensureFolder, retryAfterRemoving } from './ensure-folder.ts'
import { appendPlain, readPlain, writePlain } from './plain-files.ts'

/** What is known of a command before it runs, and therefore whatever happens to it. */
export type ProcessStart = Omit<ProcessState, 'endedAt' | 'ending' | 'outputBytes'>
export type ProcessEnd = { endedAt: number; ending: ProcessEnding; dropped: number }
type SpoolRecord = { start: ProcessStart; end?: ProcessEnd; outputBytes: number }

export type Spool = ReturnType<typeof newSpool>

/**
 * A folder for each command. Not synced: what must survive is the end of a process, not that of the machine. Commands can
 * write here too, so whatever is read may be nonsense and is then as if it were not there.
 */
export function newSpool(folder: string) {
  const processes = join(folder, 'processes')
  ensureFolder(processes)

  /** Once more after a command changed what is here, or who may write. */
  function mended<T>(work: () => T): T {
    try {
      return work()
    } catch {
      chmodSync(folder, 0o700)
      ensureFolder(processes)
      return work()
    }
  }

  const placeOf = (processId: string) => join(processes, processId)

  return {
    folder,
    /** Once this returns, the command counts as begun. */
    begin(beginning: ProcessStart): void {
      mended(() => {
        mkdirSync(placeOf(beginning.processId), { recursive: true, mode: 0o700 })
        writeJsonAtomic(join(placeOf(beginning.processId), 'beginning.json'), beginning)
      })
    },
    end(processId: string, end: ProcessEnd): void {
      mended(() => {
        mkdirSync(placeOf(processId), { recursive: true, mode: 0o700 })
        writeJsonAtomic(join(placeOf(processId), 'end.json'), end)
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
    read(): SpoolRecord[] {
      const found = readdirSync(processes).map((name) => recordIn(placeOf(name), name))
      return found.filter((one) => one !== undefined).sort((a, b) => a.start.startedAt - b.start.startedAt)
    },
  }
}

const MAX_FAULTS = 64 * 1024

function recordIn(folder: string, name: string): SpoolRecord | undefined {
  const beginning = readJson<ProcessStart>(join(folder, 'beginning.json'))
  if (!isBeginning(beginning) || beginning.processId !== name) return undefined
  const end = readJson<ProcessEnd>(join(folder, 'end.json'))
  const outputBytes = sizeOf(join(folder, 'output'))
  return { start: beginning, ...defined({ end: isEnd(end) ? end : undefined }), outputBytes }
}

const isBeginning = (value: ProcessStart | undefined): value is ProcessStart =>
  value !== undefined &&
  typeof value.processId === 'string' &&
  typeof value.key === 'string' &&
  typeof value.command === 'string' &&
  typeof value.runId === 'string' &&
  typeof value.startedAt === 'number'

const isEnd = (value: ProcessEnd | undefined): value is ProcessEnd =>
  value !== undefined && typeof value.endedAt === 'number' && typeof value.ending?.type === 'string'

/** Whole or not at all. */
export const writeJsonAtomic = (file: string, value: unknown): void => writeTextAtomic(file, JSON.stringify(value))

export function writeTextAtomic(file: string, text: string): void {
  retryAfterRemoving([`${file}.new`, file], () => {
    writePlain(`${file}.new`, text)
    renameSync(`${file}.new`, file)
  })
}

export function readJson<T>(file: string): T | undefined {
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
