import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, constants, openSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { ensureFolder } from './ensure-folder.ts'

/** `ours` is read or written without blocking; `theirs` is passed to the command and closed here. */
type Pipe = { ours: Socket; theirs: number }

const BATCH = 16
const ATTEMPTS = 3

/**
 * Real pipes for commands. For 'pipe', `spawn` creates sockets, on which opening /dev/stdout or /dev/stderr fails; and
 * standard output and error must share one pipe to keep their order. Created in batches, because `mkfifo` is a process.
 */
export function newPipes(folder: string) {
  const pipeFolder = join(folder, 'pipes')
  rmSync(pipeFolder, { recursive: true, force: true })
  let ready: string[] = []
  let making: Promise<void> | undefined

  const make = (): Promise<void> => {
    making ??= makeFifos(pipeFolder)
      .then((made) => void ready.push(...made))
      .finally(() => {
        making = undefined
      })
    return making
  }

  async function take(): Promise<string> {
    if (ready.length <= BATCH / 2) {
      const made = make()
      if (ready.length === 0) await made
      else made.catch(() => {})
    }
    const name = ready.shift()
    if (!name) throw new Error('a pipe could not be created')
    return name
  }

  async function open(flags: { ours: number; theirs: number }): Promise<Pipe> {
    for (let attempt = 1; ; attempt++) {
      const name = await take()
      const opened: number[] = []
      try {
        // Open for both first: opening one end alone waits for the other.
        const both = openSync(name, constants.O_RDWR | constants.O_NONBLOCK)
        opened.push(both)
        const theirs = openSync(name, flags.theirs)
        opened.push(theirs)
        const ours = openSync(name, flags.ours | constants.O_NONBLOCK)
        opened.push(ours)
        const isReader = flags.ours === constants.O_RDONLY
        const socket = new Socket({ fd: ours, readable: isReader, writable: !isReader })
        closeSync(both)
        rmSync(name, { force: true })
        return { ours: socket, theirs }
      } catch (fault) {
        // A command replaced the pipe: create new ones.
        for (const descriptor of opened) closeSync(descriptor)
        ready = []
        if (attempt === ATTEMPTS) throw fault
      }
    }
  }

  return {
    prepare: make,
    forOutput: () => open({ ours: constants.O_RDONLY, theirs: constants.O_WRONLY }),
    forInput: () => open({ ours: constants.O_WRONLY, theirs: constants.O_RDONLY }),
  }
}

export type Pipes = ReturnType<typeof newPipes>

function makeFifos(pipeFolder: string): Promise<string[]> {
  ensureFolder(pipeFolder)
  const names = Array.from({ length: BATCH }, () => join(pipeFolder, randomBytes(6).toString('hex')))
  return new Promise((resolve, reject) => {
    execFile('mkfifo', ['-m', '600', ...names], { env: { PATH: process.env.PATH ?? '/usr/bin:/bin' } }, (fault) =>
      fault ? reject(fault) : resolve(names),
    )
  })
}
