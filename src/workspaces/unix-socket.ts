import { closeSync, constants, openSync, renameSync, rmSync } from 'node:fs'
import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { basename, dirname } from 'node:path'

/** The system takes 107 bytes for the path of a socket. */
const LONGEST = 100

/** Calls `use` with a path to the same place that is short enough, which holds for as long as the call takes. */
function withShortPath<T>(path: string, use: (short: string) => T): T {
  if (Buffer.byteLength(path) <= LONGEST) return use(path)
  const folder = openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    return use(`/proc/self/fd/${folder}/${basename(path)}`)
  } finally {
    closeSync(folder)
  }
}

/** Connecting begins with the call and needs the path only for that. */
export const connectTo = (path: string): Socket => withShortPath(path, (short) => createConnection(short))

/** A name that listens from the moment it is there. It takes the place of what had the name before. For one at a time. */
export async function listenAt(path: string, server: Server): Promise<void> {
  const beside = `${path}.new`
  // Of one that died between the two.
  rmSync(beside, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    withShortPath(beside, (short) => server.listen(short, resolve))
  })
  renameSync(beside, path)
}

type ListeningSocket = { descriptor: number; release(): void }

/** Listens without accepting: whoever inherits the descriptor does that. Letting go of it here leaves it to them. */
export async function newListeningSocket(path: string): Promise<ListeningSocket> {
  const server = createServer()
  await listenAt(path, server)
  const { fd } = (server as unknown as { _handle: { fd: number } })._handle
  return { descriptor: fd, release: () => void server.close() }
}
