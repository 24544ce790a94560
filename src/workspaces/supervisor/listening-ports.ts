import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { ListeningPort } from '../../ports/workspaces.ts'
import type { OwnedProcess } from './process-owners.ts'

/** `host` is the loopback address at which the port answers. */
type OpenPort = ListeningPort & { host: '127.0.0.1' | '::1' }

const TABLES = [
  { file: '/proc/net/tcp', host: '127.0.0.1', addresses: ['0100007F', '00000000'] },
  {
    file: '/proc/net/tcp6',
    host: '::1',
    addresses: ['00000000000000000000000001000000', '00000000000000000000000000000000'],
  },
] as const
const LISTENING = '0A'

/** Ports on which the workspace's own processes listen, and no others: without a sandbox the machine has more. */
export function listeningPorts(members: OwnedProcess[]): OpenPort[] {
  const ownerOf = socketOwners(members)
  const found = new Map<number, OpenPort>()
  for (const { file, host, addresses } of TABLES) {
    for (const line of linesOf(file)) {
      const fields = line.trim().split(/\s+/)
      const [address = '', portText = ''] = (fields[1] ?? '').split(':')
      const inode = fields[9] ?? ''
      if (fields[3] !== LISTENING || !(addresses as readonly string[]).includes(address) || !ownerOf.has(inode))
        continue
      const port = Number.parseInt(portText, 16)
      if (!found.has(port)) found.set(port, { port, processId: ownerOf.get(inode) ?? null, host })
    }
  }
  return [...found.values()].sort((one, other) => one.port - other.port)
}

/** The owner of each socket that a process holds open, by inode. */
function socketOwners(members: OwnedProcess[]): Map<string, string | undefined> {
  const owners = new Map<string, string | undefined>()
  for (const { pid, owner } of members)
    for (const target of descriptorsOf(pid)) {
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1]
      if (inode !== undefined && !owners.has(inode)) owners.set(inode, owner)
    }
  return owners
}

function descriptorsOf(pid: number): string[] {
  const names = orElse(() => readdirSync(`/proc/${pid}/fd`), [])
  // A busy server closes connections meanwhile; the descriptors that stay still count.
  return names.map((name) => orElse(() => readlinkSync(`/proc/${pid}/fd/${name}`), ''))
}

const linesOf = (file: string): string[] => orElse(() => readFileSync(file, 'latin1').split('\n').slice(1), [])

/** Processes end and descriptors close while /proc is read. */
function orElse<T>(read: () => T, gone: T): T {
  try {
    return read()
  } catch {
    return gone
  }
}
