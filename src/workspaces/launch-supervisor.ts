import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { defined } from '../core/defined.ts'
import { WorkspaceError } from '../ports/workspaces.ts'
import type { Cgroup } from './cgroup.ts'
import { connect, type SupervisorConnection } from './connection.ts'
import type { SupervisorConfig } from './protocol.ts'
import { bwrapArguments, SANDBOX_PATHS } from './sandbox/bubblewrap.ts'
import { toSandboxError } from './sandbox/sandbox-errors.ts'
import { seccompFilter } from './sandbox/seccomp.ts'
import { withUnwritableDevices } from './sandbox/unwritable-devices.ts'
import { killSupervisor, writeSupervisorPid } from './supervisor-pid.ts'
import { NODE_OPTIONS, type SupervisorProgram } from './supervisor-program.ts'
import { newListeningSocket } from './unix-socket.ts'
import type { WorkspacePaths } from './workspace-folder.ts'

/** Descriptors of what is started, by their place. */
const SOCKET = 3
const SECCOMP = 4
const INFO = 5
/** Held back until its limits are set. */
const BLOCK = 6

const LAST_WORDS_MS = 1_000

type LaunchOptions = {
  paths: WorkspacePaths
  program: SupervisorProgram
  config: SupervisorConfig
  /** The program that makes the sandbox; without it there is none. */
  bubblewrap?: { program: string; etc: string; egress?: string; cgroup?: Cgroup }
}

/** Starts what keeps a workspace and resolves when it answers. Called by one at a time; what was there before is ended first. */
export async function launchSupervisor(options: LaunchOptions): Promise<SupervisorConnection> {
  const { paths } = options
  await killSupervisor(paths)
  const socket = await newListeningSocket(paths.socket)
  let child: ChildProcess
  try {
    child = options.bubblewrap
      ? startSandbox(options, options.bubblewrap, socket.descriptor)
      : startLocal(options, socket.descriptor)
  } finally {
    socket.release()
  }
  const words = listenTo(child.stderr)
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (fault) => reject(toSandboxError(fault.message)))
    child.once('exit', (code) => void words.then((text) => reject(toSandboxError(text || `it ended with ${code}`))))
  })
  failed.catch(() => {})
  try {
    const pid = options.bubblewrap ? await Promise.race([firstProcess(child, paths), failed]) : child.pid
    if (pid !== undefined) writeSupervisorPid(paths, pid)
    if (pid !== undefined && options.bubblewrap?.cgroup) {
      options.bubblewrap.cgroup.add(pid)
      ;(child.stdio as (Writable | null)[])[BLOCK]?.end('.')
    }
    return await Promise.race([greeted(options), failed])
  } catch (fault) {
    await killSupervisor(paths)
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

async function greeted({ paths }: LaunchOptions): Promise<SupervisorConnection> {
  let connection: SupervisorConnection | undefined
  try {
    connection = await connect(paths.socket)
    await connection.ask({ type: 'hello' })
    return connection
  } catch (cause) {
    connection?.close()
    throw new WorkspaceError('unavailable', 'The workspace did not start in time. Try again.', { cause })
  }
}

function startSandbox(
  { paths, config, program: { folder, entry } }: LaunchOptions,
  { program, etc, egress, cgroup }: NonNullable<LaunchOptions['bubblewrap']>,
  socket: number,
): ChildProcess {
  const filter = seccompFilter(process.arch)
  const walls = bwrapArguments({
    files: paths.files,
    spool: paths.spool,
    supervisor: folder,
    node: process.execPath,
    etc,
    quota: config.quota,
    ...defined({ egress: egress || undefined }),
    descriptors: {
      info: INFO,
      ...defined({ seccomp: filter ? SECCOMP : undefined, block: cgroup ? BLOCK : undefined }),
    },
  })
  const command = [SANDBOX_PATHS.node, ...NODE_OPTIONS, `${SANDBOX_PATHS.supervisor}/${entry}`, JSON.stringify(config)]
  // Blocks of 512 bytes: no single file, however empty inside, is larger than the whole workspace may be.
  const blocks = String(Math.ceil(config.quota.diskBytes / 512))
  const first = ['/bin/sh', '-c', FIRST_SCRIPT, blocks, ...command]
  const sandbox = withUnwritableDevices([program, ...walls, '--', ...first])
  // A file and not a pipe: one that broke because we die here would end bubblewrap between two of its processes, and the
  // second would wait for the first for ever.
  const info = openSync(paths.bwrapInfo, 'w', 0o600)
  const child = spawn(...withoutInherited(sandbox, cgroup ? BLOCK : INFO), {
    cwd: '/',
    // Its first process inside keeps what it was given, readable for everybody there.
    env: config.environment,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', socket, 'pipe', info, ...(cgroup ? (['pipe'] as const) : [])],
  })
  closeSync(info)
  const seccomp = child.stdio[SECCOMP] as Writable | null
  seccomp?.on('error', () => {})
  seccomp?.end(filter)
  return child
}

function startLocal({ config, program: { folder, entry } }: LaunchOptions, socket: number): ChildProcess {
  return spawn(
    ...withoutInherited([process.execPath, ...NODE_OPTIONS, `${folder}/${entry}`, JSON.stringify(config)], SOCKET),
    {
      cwd: '/',
      env: config.environment,
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
async function firstProcess(child: ChildProcess, { bwrapInfo }: WorkspacePaths): Promise<number | undefined> {
  while (child.exitCode === null && child.signalCode === null) {
    const pid = /"child-pid":\s*(\d+)/.exec(readFileSync(bwrapInfo, 'latin1'))?.[1]
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
