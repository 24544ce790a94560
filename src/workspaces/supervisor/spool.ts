import { chmodSync, opendirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { defined } from '../../core/defined.ts'
import type { OutputStream, ProcessEnding, ProcessState } from '../../ports/workspaces.ts'
import { ensureFolder, makeFolder, retryAfterRemoving } from './ensure-folder.ts'
import { SPOOL_BYTES } from './output.ts'
import { appendPlain, readPlain, writePlain } from './plain-files.ts'

/** What is recorded of a command before it runs. */
export type ProcessStart = Omit<ProcessState, 'endedAt' | 'ending' | 'outputBytes'>
export type ProcessEnd = { endedAt: number; ending: ProcessEnding; dropped: number }
type SpoolRecord = { start: ProcessStart; end?: ProcessEnd; outputBytes: number }

export type Spool = ReturnType<typeof newSpool>

/**
 * A folder for each command. Not synced: it must survive a crash of the supervisor, not of the machine. Commands can
 * write here too, so invalid content is treated as missing.
 */
export function newSpool(folder: string) {
  const processes = join(folder, 'processes')
  ensureFolder(processes)

  /** Retries once after repairing the folder, which a command may have replaced or made unwritable. */
  function withRepair<T>(work: () => T): T {
    try {
      return work()
    } catch {
      chmodSync(folder, 0o700)
      ensureFolder(processes)
      return work()
    }
  }

  const folderOf = (processId: string) => join(processes, processId)

  return {
    folder,
    /** Once this returns, the command counts as started. */
    recordStart(start: ProcessStart): void {
      withRepair(() => {
        makeFolder(folderOf(start.processId))
        writeJsonAtomic(join(folderOf(start.processId), 'beginning.json'), start)
      })
    },
    recordEnd(processId: string, end: ProcessEnd): void {
      withRepair(() => {
        makeFolder(folderOf(processId))
        writeJsonAtomic(join(folderOf(processId), 'end.json'), end)
      })
    },
    remove(processId: string): void {
      withRepair(() => rmSync(folderOf(processId), { recursive: true, force: true }))
    },
    /** Logs an error of the supervisor itself, for the operator. */
    logError(fault: unknown): void {
      try {
        const file = join(folder, 'faults.log')
        if (sizeOf(file) < MAX_LOG_BYTES) appendPlain(file, `${(fault as Error)?.stack ?? fault}\n`)
      } catch {
        // There is no other place to report it.
      }
    },
    /** Writes output on behalf of a command that could not start. Returns the size of the output. */
    appendOutput(processId: string, text: string): number {
      appendPlain(join(folderOf(processId), 'output'), text)
      return sizeOf(join(folderOf(processId), 'output'))
    },
    stateFile: (processId: string): string => join(folderOf(processId), 'state'),
    scriptFile: (processId: string): string => join(folderOf(processId), 'script'),
    streamFile: (processId: string, stream: OutputStream): string => join(folderOf(processId), stream),
    /** Whether an entry is the supervisor's, and not larger than the supervisor makes it. */
    isOwn({ path, bytes }: { path: string; bytes: number }, isKnown: (processId: string) => boolean): boolean {
      const below = relative(folder, path)
      const processId = /^processes\/([^/]+)/.exec(below)?.[1]
      if (processId !== undefined && !isKnown(processId)) return false
      return OWN_ENTRIES.some(({ name, maxBytes }) => bytes <= maxBytes && name.test(below))
    },
    /** All recorded commands, oldest first. */
    read(): SpoolRecord[] {
      const found: SpoolRecord[] = []
      let left = MAX_RECORD_BYTES_READ
      for (const name of namesIn(processes)) {
        const bytes = sizeOf(join(folderOf(name), 'beginning.json'))
        if (bytes > MAX_JSON_BYTES) continue
        left -= bytes
        if (left < 0) break
        const one = readRecord(folderOf(name), name)
        if (one) found.push(one)
      }
      return found.sort((a, b) => a.start.startedAt - b.start.startedAt)
    },
  }
}

const MAX_LOG_BYTES = 64 * 1024

const OWN_ENTRIES: readonly { name: RegExp; maxBytes: number }[] = [
  { name: /^(processes|pipes)$/, maxBytes: 4 * 1024 * 1024 },
  { name: /^pipes\/[0-9a-f]{12}$/, maxBytes: 0 },
  { name: /^(terminal\.(json|bash)(\.new)?|writes(\.tmp)?|pruned\.jsonl|faults\.log)$/, maxBytes: 16 * 1024 * 1024 },
  {
    name: /^processes\/process-[0-9a-f]{8}(\/(beginning|end)\.json(\.new)?|\/state(\.names)?|\/script)?$/,
    maxBytes: 4 * 1024 * 1024,
  },
  { name: /^processes\/process-[0-9a-f]{8}\/(output|errors)$/, maxBytes: SPOOL_BYTES },
  { name: /^processes\/process-[0-9a-f]{8}\/result(\.new)?$/, maxBytes: 8 * 1024 * 1024 },
]
/** The longest command with its JSON escapes. */
const MAX_JSON_BYTES = 2 * 1024 * 1024
/** Bounds of what a start reads. The supervisor keeps far less; the rest is from commands, which can write here too. */
const MAX_RECORD_BYTES_READ = 64 * 1024 * 1024
const MAX_RECORDS_READ = 1_024

/** Names of recorded commands; others are ignored. */
function namesIn(folder: string): string[] {
  const names: string[] = []
  const entries = opendirSync(folder)
  try {
    for (let entry = entries.readSync(); entry && names.length < MAX_RECORDS_READ; entry = entries.readSync())
      if (/^process-[0-9a-f]{8}$/.test(entry.name)) names.push(entry.name)
  } finally {
    entries.closeSync()
  }
  return names
}

function readRecord(folder: string, name: string): SpoolRecord | undefined {
  const start = readJson<ProcessStart>(join(folder, 'beginning.json'))
  if (!isProcessStart(start) || start.processId !== name) return undefined
  const end = readJson<ProcessEnd>(join(folder, 'end.json'))
  const outputBytes = sizeOf(join(folder, 'output'))
  return { start, ...defined({ end: isProcessEnd(end) ? end : undefined }), outputBytes }
}

const isProcessStart = (value: ProcessStart | undefined): value is ProcessStart =>
  value !== undefined &&
  typeof value.processId === 'string' &&
  typeof value.key === 'string' &&
  typeof value.command === 'string' &&
  typeof value.runId === 'string' &&
  typeof value.startedAt === 'number'

const isProcessEnd = (value: ProcessEnd | undefined): value is ProcessEnd =>
  value !== undefined && typeof value.endedAt === 'number' && typeof value.ending?.type === 'string'

/** Atomic: a temporary file and a rename. */
export const writeJsonAtomic = (file: string, value: unknown): void => writeTextAtomic(file, JSON.stringify(value))

export function writeTextAtomic(file: string, text: string): void {
  retryAfterRemoving([`${file}.new`, file], () => {
    writePlain(`${file}.new`, text)
    renameSync(`${file}.new`, file)
  })
}

export function readJson<T>(file: string): T | undefined {
  try {
    const value = JSON.parse(readPlain(file, MAX_JSON_BYTES))
    return typeof value === 'object' && value !== null ? (value as T) : undefined
  } catch {
    return undefined
  }
}

export function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
