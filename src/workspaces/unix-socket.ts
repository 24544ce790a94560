import { chmodSync, closeSync, constants, openSync, renameSync, rmSync } from 'node:fs'
import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { basename, dirname } from 'node:path'

/** Linux allows 107 bytes for the path of a socket. */
const MAX_PATH_BYTES = 100

/** Calls `use` with a short alias of the path, which is valid during the call only. */
function withShortPath<T>(path: string, use: (short: string) => T): T {
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return use(path)
  const folder = openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    return use(`/proc/self/fd/${folder}/${basename(path)}`)
  } finally {
    closeSync(folder)
  }
}

/** The path is needed only to start connecting, so the alias may end with the call. */
export const connectTo = (path: string): Socket => withShortPath(path, (short) => createConnection(short))

/** The path appears only once the server listens, and replaces an older socket. Call it under a lock. */
export async function listenAt(path: string, server: Server): Promise<void> {
  const temporary = `${path}.new`
  // Left by a process that died before the rename.
  rmSync(temporary, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    withShortPath(temporary, (short) => server.listen(short, resolve))
  })
  chmodSync(temporary, 0o600)
  renameSync(temporary, path)
}

type ListeningSocket = { descriptor: number; release(): void }

/**
 * Listens without accepting: the child that inherits the descriptor accepts. `release` closes it in this process only.
 */
export async function newListeningSocket(path: string): Promise<ListeningSocket> {
  const server = createServer()
  await listenAt(path, server)
  const { fd } = (server as unknown as { _handle: { fd: number } })._handle
  return { descriptor: fd, release: () => void server.close() }
}
