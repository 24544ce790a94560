import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { WorkspaceError } from '../ports/workspaces.ts'
import type { Cgroup } from './cgroup.ts'
import { type Connection, connect } from './connection.ts'
import type { Place } from './folder.ts'
import { endKeeper, writeKeeper } from './keeper.ts'
import type { SupervisorOrders } from './protocol.ts'
import { INSIDE, wallsOf } from './sandbox/bubblewrap.ts'
import { refusalOf } from './sandbox/refusal.ts'
import { seccompFilter } from './sandbox/seccomp.ts'
import { withUnwritableDevices } from './sandbox/unwritable-devices.ts'
import { NODE_OPTIONS, type SupervisorProgram } from './supervisor-program.ts'
import { newListeningSocket } from './unix-socket.ts'

/** Descriptors of what is started, by their place. */
const SOCKET = 3
const SECCOMP = 4
const INFO = 5
/** Held back until its limits are set. */
const BLOCK = 6

const LAST_WORDS_MS = 1_000

type LaunchOptions = {
  place: Place
  program: SupervisorProgram
  orders: SupervisorOrders
  /** The program that makes the sandbox; without it there is none. */
  bubblewrap?: { program: string; etc: string; egress?: string; cgroup?: Cgroup }
}

/** Starts what keeps a workspace and resolves when it answers. Called by one at a time; what was there before is ended first. */
export async function launch(options: LaunchOptions): Promise<Connection> {
  const { place } = options
  await endKeeper(place)
  const socket = await newListeningSocket(place.socket)
  let child: ChildProcess
  try {
    child = options.bubblewrap
      ? startSandbox(options, options.bubblewrap, socket.descriptor)
      : startLocal(options, socket.descriptor)
  } finally {
    socket.letGo()
  }
  const words = listenTo(child.stderr)
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (fault) => reject(refusalOf(fault.message)))
    child.once('exit', (code) => void words.then((text) => reject(refusalOf(text || `it ended with ${code}`))))
  })
  failed.catch(() => {})
  try {
    const pid = options.bubblewrap ? await Promise.race([firstProcess(child, place), failed]) : child.pid
    if (pid !== undefined) writeKeeper(place, pid)
    if (pid !== undefined && options.bubblewrap?.cgroup) {
      options.bubblewrap.cgroup.hold(pid)
      ;(child.stdio as (Writable | null)[])[BLOCK]?.end('.')
    }
    return await Promise.race([greeted(options), failed])
  } catch (fault) {
    await endKeeper(place)
    // Nobody listening is how it looks from here; why is what the one that ended has to say.
    await Promise.race([failed, new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS))])
    throw fault
  } finally {
    // It lives without us from here on.
    child.unref()
    for (const stream of child.stdio) stream?.destroy()
  }
}

/** Its own /dev/null in place of the machine's, which it came with and which could be changed through its descriptor. */
const FIRST_SCRIPT = 'ulimit -c 0; ulimit -f "$0"; exec </dev/null >/dev/null; "$@"; exit $?'

async function greeted({ place }: LaunchOptions): Promise<Connection> {
  let connection: Connection | undefined
  try {
    connection = await connect(place.socket)
    await connection.ask({ type: 'hello' })
    return connection
  } catch (cause) {
    connection?.close()
    throw new WorkspaceError('unavailable', 'The workspace did not start in time. Try again.', { cause })
  }
}

function startSandbox(
  { place, orders, program: { folder, entry } }: LaunchOptions,
  { program, etc, egress, cgroup }: NonNullable<LaunchOptions['bubblewrap']>,
  socket: number,
): ChildProcess {
  const filter = seccompFilter(process.arch)
  const walls = wallsOf({
    ...{ files: place.files, spool: place.spool, supervisor: folder, node: process.execPath, etc, quota: orders.quota },
    ...(egress ? { egress } : {}),
    descriptors: { info: INFO, ...(filter ? { seccomp: SECCOMP } : {}), ...(cgroup ? { block: BLOCK } : {}) },
  })
  const command = [INSIDE.node, ...NODE_OPTIONS, `${INSIDE.supervisor}/${entry}`, JSON.stringify(orders)]
  // Blocks of 512 bytes: no single file, however empty inside, is larger than the whole workspace may be.
  const blocks = String(Math.ceil(orders.quota.diskBytes / 512))
  const first = ['/bin/sh', '-c', FIRST_SCRIPT, blocks, ...command]
  const sandbox = withUnwritableDevices([program, ...walls, '--', ...first])
  // A file and not a pipe: one that broke because we die here would end bubblewrap between two of its processes, and the
  // second would wait for the first for ever.
  const info = openSync(place.started, 'w', 0o600)
  const child = spawn(...withoutInherited(sandbox, cgroup ? BLOCK : INFO), {
    cwd: '/',
    // Its first process inside keeps what it was given, readable for everybody there.
    env: orders.environment,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', socket, 'pipe', info, ...(cgroup ? (['pipe'] as const) : [])],
  })
  closeSync(info)
  const seccomp = child.stdio[SECCOMP] as Writable | null
  seccomp?.on('error', () => {})
  seccomp?.end(filter)
  return child
}

function startLocal({ orders, program: { folder, entry } }: LaunchOptions, socket: number): ChildProcess {
  return spawn(
    ...withoutInherited([process.execPath, ...NODE_OPTIONS, `${folder}/${entry}`, JSON.stringify(orders)], SOCKET),
    {
      cwd: '/',
      env: orders.environment,
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe', socket],
    },
  )
}

/**
 * Descriptors the server itself was started with, by a service manager say, would be inherited through everything down to the
 * commands: all but ours are closed on the way. Only bash can name those above nine; the supervisor refuses what is left.
 */
function withoutInherited(command: string[], last: number): [file: string, parameters: string[]] {
  const shell = ['/bin/bash', '/usr/bin/bash'].find((path) => existsSync(path))
  if (!shell) return [command[0]!, command.slice(1)]
  return [shell, ['-c', CLOSE_OTHERS, String(last), ...command]]
}

const CLOSE_OTHERS =
  'cd /proc/self/fd; for number in *; do ((number > $0 && number != 255)) && eval "exec $number>&-"; done; cd /; exec "$@"'

/** The first process inside, as it is called outside: everything in there ends with it. */
async function firstProcess(child: ChildProcess, { started }: Place): Promise<number | undefined> {
  while (child.exitCode === null && child.signalCode === null) {
    const pid = /"child-pid":\s*(\d+)/.exec(readFileSync(started, 'latin1'))?.[1]
    if (pid !== undefined) return Number(pid)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  return undefined
}

/** What it says until it closes, up to a few kilobytes. */
function listenTo(stream: Readable | null | undefined): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    stream?.setEncoding('utf8')
    stream?.on('data', (piece: string) => {
      if (text.length < 4096) text += piece
    })
    stream?.on('error', () => {})
    stream?.once('close', () => resolve(text))
    if (!stream) resolve(text)
  })
}
