import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFileSync } from '../../disk/atomic-write.ts'

/** Where the server of a home is found. */
type ServerNote = { url: string; pid: number; started: string }

const fileIn = (home: string): string => join(home, 'server.json')

/** Written when the server listens; it replaces what a server that was killed left behind. */
export function writeServerNote(home: string, note: ServerNote): void {
  replaceFileSync(fileIn(home), `${JSON.stringify(note)}\n`)
}

/** Only one's own: on PostgreSQL another server of this home may have written since. */
export function removeServerNote(home: string, pid: number): void {
  if (readServerNote(home)?.pid === pid) rmSync(fileIn(home), { force: true })
}

/** What is written there, if the process that wrote it may still live. */
export function readServerNote(home: string): ServerNote | undefined {
  try {
    const note = JSON.parse(readFileSync(fileIn(home), 'utf8')) as Partial<ServerNote>
    const { url, pid, started = '' } = note
    if (typeof url !== 'string' || !URL.canParse(url) || !Number.isInteger(pid)) return undefined
    return isAlive(pid!) ? { url, pid: pid!, started } : undefined
  } catch {
    // There is none, or it is not whole: then nobody can be talked to.
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (fault) {
    // Somebody else's process is one, too.
    return (fault as NodeJS.ErrnoException).code === 'EPERM'
  }
}
