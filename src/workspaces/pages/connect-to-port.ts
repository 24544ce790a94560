import type { Socket } from 'node:net'
import { WorkspaceError } from '../../ports/workspaces.ts'
import { connectTo } from '../unix-socket.ts'
import type { WorkspacePaths } from '../workspace-folder.ts'

const TIMEOUT_MS = 15_000
const MAX_ANSWER_BYTES = 4_096
const NEWLINE = 10

/** Bytes to and from a port inside a workspace, through its supervisor. Does not wake a workspace that sleeps. */
export async function connectToPort(paths: WorkspacePaths, port: number): Promise<Socket> {
  const socket = connectTo(paths.socket)
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy())
  socket.on('error', () => socket.destroy())
  socket.write(`${JSON.stringify({ id: 1, ask: { type: 'connect', port } })}\n`)
  const line = await firstLine(socket)
  if (!isConnected(line)) {
    socket.destroy()
    throw new WorkspaceError('unavailable', `Nothing answers on port ${port} of the workspace.`)
  }
  socket.setTimeout(0)
  return socket
}

/** Empty if the connection ends first. Bytes after the line stay in the socket. */
function firstLine(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let held = Buffer.alloc(0)
    const finish = (line: string) => {
      socket.off('readable', onReadable)
      socket.off('close', onClose)
      resolve(line)
    }
    const onClose = () => finish('')
    const onReadable = () => {
      const chunk = socket.read() as Buffer | null
      if (!chunk) return
      held = Buffer.concat([held, chunk])
      const end = held.indexOf(NEWLINE)
      if (end < 0 && held.length <= MAX_ANSWER_BYTES) return
      if (end >= 0 && end + 1 < held.length) socket.unshift(held.subarray(end + 1))
      finish(held.toString('utf8', 0, Math.max(0, end)))
    }
    socket.on('readable', onReadable)
    socket.on('close', onClose)
  })
}

/** The answer comes from inside the sandbox and is not trusted. */
function isConnected(line: string): boolean {
  try {
    return (JSON.parse(line) as { answer?: unknown } | null)?.answer === 'connected'
  } catch {
    return false
  }
}
