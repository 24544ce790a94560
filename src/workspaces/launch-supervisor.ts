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

/** Descriptor numbers in the child process. */
const SOCKET_FD = 3
const SECCOMP_FD = 4
const INFO_FD = 5
/** bubblewrap waits on this descriptor until the cgroup limits are set. */
const BLOCK_FD = 6

const STDERR_WAIT_MS = 1_000

type LaunchOptions = {
  paths: WorkspacePaths
  program: SupervisorProgram
  config: SupervisorConfig
  /** What the sandbox needs; absent where commands run without one. */
  bubblewrap?: {
    program: string
    etc: string
    covered: readonly string[]
    egress?: string
    packages?: string
    cgroup?: Cgroup
  }
}

/**
 * Starts a supervisor and resolves when it answers. Call it under the launch lock; it first kills a supervisor that is
 * left.
 */
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
  const stderr = readText(child.stderr)
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (fault) => reject(toSandboxError(fault.message)))
    child.once(
      'exit',
      (code) => void stderr.then((text) => reject(toSandboxError(text || `the supervisor exited with code ${code}`))),
    )
  })
  failed.catch(() => {})
  try {
    const pid = options.bubblewrap ? await Promise.race([readFirstPid(child, paths), failed]) : child.pid
    if (pid !== undefined) writeSupervisorPid(paths, pid)
    if (pid !== undefined && options.bubblewrap?.cgroup) {
      options.bubblewrap.cgroup.add(pid)
      ;(child.stdio as (Writable | null)[])[BLOCK_FD]?.end('.')
    }
    return await Promise.race([connectAndGreet(options), failed])
  } catch (fault) {
    await killSupervisor(paths)
    // The child's stderr explains more than our connect error: `failed` rejects with it.
    await Promise.race([failed, new Promise((resolve) => setTimeout(resolve, STDERR_WAIT_MS))])
    throw fault
  } finally {
    // The supervisor outlives this process.
    child.unref()
    for (const stream of child.stdio) stream?.destroy()
  }
}

/**
 * Replaces the inherited /dev/null, the machine's own, by the sandbox's: its mode could be changed through the
 * descriptor.
 */
const INIT_SCRIPT = 'ulimit -c 0; ulimit -f "$0"; exec </dev/null >/dev/null; "$@"; exit $?'

async function connectAndGreet({ paths }: LaunchOptions): Promise<SupervisorConnection> {
  let connection: SupervisorConnection | undefined
  try {
    connection = await connect(paths.socket)
    await connection.ask({ type: 'hello' })
    return connection
  } catch (cause) {
    connection?.close()
    throw new WorkspaceError('unavailable', 'The workspace supervisor did not answer in time. Try again.', { cause })
  }
}

function startSandbox(
  { paths, config, program: { folder, entry } }: LaunchOptions,
  { program, etc, covered, egress, packages, cgroup }: NonNullable<LaunchOptions['bubblewrap']>,
  socket: number,
): ChildProcess {
  const filter = seccompFilter(process.arch)
  const bwrap = bwrapArguments({
    files: paths.files,
    spool: paths.spool,
    supervisor: folder,
    node: process.execPath,
    etc,
    covered,
    quota: config.quota,
    ...defined({ egress: egress || undefined, packages, memory: cgroup?.memory }),
    descriptors: {
      info: INFO_FD,
      ...defined({ seccomp: filter ? SECCOMP_FD : undefined, block: cgroup ? BLOCK_FD : undefined }),
    },
  })
  const command = [SANDBOX_PATHS.node, ...NODE_OPTIONS, `${SANDBOX_PATHS.supervisor}/${entry}`, JSON.stringify(config)]
  // In blocks of 512 bytes: no single file, even a sparse one, exceeds the quota of the workspace.
  const blocks = String(Math.ceil(config.quota.diskBytes / 512))
  const first = ['/bin/sh', '-c', INIT_SCRIPT, blocks, ...command]
  const sandbox = withUnwritableDevices([program, ...bwrap, '--', ...first])
  // A file, not a pipe: if this server died now, a broken pipe would end one of bubblewrap's two processes and the
  // other would wait for it forever.
  const info = openSync(paths.bwrapInfo, 'w', 0o600)
  const child = spawn(...withoutInherited(sandbox, cgroup ? BLOCK_FD : INFO_FD), {
    cwd: '/',
    // The environment of the sandbox's first process is readable for every command in it.
    env: config.environment,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', socket, 'pipe', info, ...(cgroup ? (['pipe'] as const) : [])],
  })
  closeSync(info)
  const seccomp = child.stdio[SECCOMP_FD] as Writable | null
  seccomp?.on('error', () => {})
  seccomp?.end(filter)
  return child
}

function startLocal({ config, program: { folder, entry } }: LaunchOptions, socket: number): ChildProcess {
  return spawn(
    ...withoutInherited([process.execPath, ...NODE_OPTIONS, `${folder}/${entry}`, JSON.stringify(config)], SOCKET_FD),
    {
      cwd: '/',
      env: config.environment,
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe', socket],
    },
  )
}

/**
 * Descriptors the server inherited, from a service manager for example, would reach every command: this closes all but
 * our own. Only bash can address descriptors above 9; the supervisor refuses to start if any is left.
 */
export function withoutInherited(command: string[], last: number): [file: string, parameters: string[]] {
  const shell = ['/bin/bash', '/usr/bin/bash'].find((path) => existsSync(path))
  if (!shell) return [command[0]!, command.slice(1)]
  return [shell, ['-c', CLOSE_OTHERS, String(last), ...command]]
}

const CLOSE_OTHERS =
  'cd /proc/self/fd; for number in *; do ((number > $0 && number != 255)) && eval "exec $number>&-"; done; cd /; exec "$@"'

/** The pid, outside the sandbox, of its first process: the whole sandbox ends with it. */
async function readFirstPid(child: ChildProcess, { bwrapInfo }: WorkspacePaths): Promise<number | undefined> {
  while (child.exitCode === null && child.signalCode === null) {
    const pid = /"child-pid":\s*(\d+)/.exec(readFileSync(bwrapInfo, 'latin1'))?.[1]
    if (pid !== undefined) return Number(pid)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  return undefined
}

/** The text of a stream until it closes, up to 4 KB. */
function readText(stream: Readable | null | undefined): Promise<string> {
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
