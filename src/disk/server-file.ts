import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFileSync } from './atomic-write.ts'
import { processStamp } from './process-stamp.ts'

/** The address and process of the server that owns a home. */
type ServerNote = { url: string; pid: number; started: string }

const fileIn = (home: string): string => join(home, 'server.json')

/** Called when the server listens; replaces the file of a server that was killed. */
export function writeServerNote(home: string, note: ServerNote): void {
  const stamp = processStamp(note.pid)
  replaceFileSync(fileIn(home), `${JSON.stringify(stamp === undefined ? note : Object.assign({}, note, { stamp }))}\n`)
}

/** Removes only the file of this process: on PostgreSQL another server of this home may have replaced it. */
export function removeServerNote(home: string, pid: number): void {
  if (readServerNote(home)?.pid === pid) rmSync(fileIn(home), { force: true })
}

/** Undefined unless the process that wrote the file is still alive. */
export function readServerNote(home: string): ServerNote | undefined {
  try {
    const note = JSON.parse(readFileSync(fileIn(home), 'utf8')) as Partial<ServerNote & { stamp: string }>
    const { url, pid, started = '', stamp } = note
    if (typeof url !== 'string' || !URL.canParse(url) || !Number.isInteger(pid)) return undefined
    // A pid is reused: another program with it must not get the key of the operator.
    if (stamp !== undefined && processStamp(pid!) !== stamp) return undefined
    return isAlive(pid!) ? { url, pid: pid!, started } : undefined
  } catch {
    // Missing or damaged: there is no known server.
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (fault) {
    // The process of another user is alive, too.
    return (fault as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Where the server of this home listens; it may be another process. */
export function serverAddress(home: string): { host: string; port: number } | undefined {
  const note = readServerNote(home)
  if (!note) return undefined
  const { hostname, port } = new URL(note.url)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) }
}
