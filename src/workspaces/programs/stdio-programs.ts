import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { defined } from '../../core/defined.ts'
import type { ProgramEvents, ProgramRequest, RunningProgram, StdioPrograms } from '../../ports/stdio-programs.ts'
import { WorkspaceError } from '../../ports/workspaces.ts'
import { newCgroup, removeCgroup } from '../cgroup.ts'
import type { RunningProxy } from '../egress/proxy.ts'
import { withoutInherited } from '../launch-supervisor.ts'
import { bwrapArguments, SANDBOX_PATHS } from '../sandbox/bubblewrap.ts'
import { findCovers } from '../sandbox/find-covers.ts'
import { findBubblewrap, requireLinux, toSandboxError } from '../sandbox/sandbox-errors.ts'
import { seccompFilter } from '../sandbox/seccomp.ts'
import { writeSyntheticEtc } from '../sandbox/synthetic-etc.ts'
import { withUnwritableDevices } from '../sandbox/unwritable-devices.ts'
import { PROXY_PORT, proxyEnvironment, SANDBOX_ENVIRONMENT } from '../supervisor-config.ts'
import { findSupervisorProgram, NODE_OPTIONS } from '../supervisor-program.ts'
import { removeTree } from '../workspace-folder.ts'
import type { WorkspacesOptions } from '../workspaces-options.ts'
import { readLines } from './line-reader.ts'

/** Descriptor numbers in the child process. */
const SECCOMP_FD = 3
const INFO_FD = 4

/** A program that sends more than this without a line break sends no messages. */
const MAX_LINE_BYTES = 16 * 1024 * 1024
/** Unread input of a program that does not read. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024
const STDERR_CHARACTERS = 2_000
/** Between the end of its input and SIGKILL. */
const GRACE_MS = 2_000

/** As the first process it reaps orphans. No single file exceeds the quota. */
const INIT_SCRIPT = 'ulimit -c 0; ulimit -f "$0"; "$@"; exit $?'

/** The id becomes a part of a path. */
const ID = /^[a-z_]+-[A-Za-z0-9-]{1,64}$/

type Paths = { folder: string; files: string; spool: string; egress: string }

/** Programs on this machine, each in a sandbox of its own that ends with this process. */
export function newStdioPrograms(options: WorkspacesOptions): StdioPrograms {
  const { folder: root, sandbox } = options
  const running = new Set<RunningProgram>()

  const pathsOf = (id: string): Paths => {
    if (!ID.test(id)) throw new WorkspaceError('unavailable', `"${id.slice(0, 80)}" is not an id of a program.`)
    const folder = join(root, '.programs', id)
    return { folder, files: join(folder, 'files'), spool: join(folder, 'spool'), egress: join(folder, 'egress') }
  }

  async function openProxy({ egress: folder }: Paths, domains: readonly string[]): Promise<RunningProxy | undefined> {
    if (domains.length === 0 || sandbox.containment === 'local') return undefined
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const { newProxy } = await import('../egress/proxy.ts')
    const { isPublicAddress = () => false, resolve, report } = options
    return newProxy({ folder, domains, isPublicAddress, report, ...defined({ resolve }) })
  }

  async function launch(request: ProgramRequest, paths: Paths): Promise<ChildProcess> {
    for (const folder of [paths.files, paths.spool]) mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (sandbox.containment === 'local') return launchLocal(request, paths)
    const { folder, entry } = await findSupervisorProgram()
    const hasEgress = request.egress.length > 0
    const programs = join(options.home ?? root, 'programs')
    const filter = seccompFilter(process.arch)
    const bwrap = bwrapArguments({
      files: paths.files,
      spool: paths.spool,
      supervisor: folder,
      node: process.execPath,
      etc: writeSyntheticEtc(root),
      covered: findCovers(options, folder),
      quota: sandbox.quota,
      descriptors: { info: INFO_FD, ...defined({ seccomp: filter ? SECCOMP_FD : undefined }) },
      ...defined({
        egress: hasEgress ? paths.egress : undefined,
        programs: existsSync(programs) ? programs : undefined,
      }),
    })
    const relay = `${SANDBOX_PATHS.supervisor}/${entry.replace(/main(\.\w+)$/, 'run-program$1')}`
    const wiring = JSON.stringify({ folder: SANDBOX_PATHS.egress, port: PROXY_PORT })
    const command = [request.command, ...request.args]
    const inner = hasEgress ? [SANDBOX_PATHS.node, ...NODE_OPTIONS, relay, wiring, ...command] : command
    const blocks = String(Math.ceil(sandbox.quota.diskBytes / 512))
    const outer = [
      ...[findBubblewrap(process.env.PATH), '--die-with-parent', '--new-session', ...bwrap, '--'],
      ...['/bin/sh', '-c', INIT_SCRIPT, blocks, ...inner],
    ]
    const info = openSync('/dev/null', 'w')
    const child = spawn(...withoutInherited(withUnwritableDevices(outer), INFO_FD), {
      cwd: '/',
      env: {
        ...SANDBOX_ENVIRONMENT,
        PATH: `${SANDBOX_PATHS.programs}/node_modules/.bin:${SANDBOX_PATHS.programs}/bin:${SANDBOX_ENVIRONMENT.PATH}`,
        ...(hasEgress ? proxyEnvironment() : undefined),
        ...request.environment,
      },
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe', info],
    })
    closeSync(info)
    if (child.pid !== undefined) newCgroup(request.id, sandbox.quota)?.add(child.pid)
    const seccomp = child.stdio[SECCOMP_FD] as Writable | null
    seccomp?.on('error', () => {})
    seccomp?.end(filter)
    return child
  }

  return {
    async start(request, events) {
      requireLinux()
      const paths = pathsOf(request.id)
      const proxy = await openProxy(paths, request.egress)
      let child: ChildProcess
      try {
        child = await launch(request, paths)
      } catch (fault) {
        proxy?.close()
        throw fault
      }
      const program = watch(child, events, () => {
        running.delete(program)
        proxy?.close()
        void removeCgroup(request.id).catch((fault) => options.report(fault, `removing the cgroup of ${request.id}`))
      })
      running.add(program)
      return program
    },
    remove: (id) => removeTree(pathsOf(id).folder),
    async close() {
      await Promise.all([...running].map((program) => program.stop('the server is shutting down')))
    },
  }
}

function launchLocal({ command, args, environment }: ProgramRequest, { files }: Paths): ChildProcess {
  const passed = ['PATH', 'HOME', 'USER', 'LANG', 'TZ'].flatMap((name) =>
    process.env[name] === undefined ? [] : [[name, process.env[name]]],
  )
  const env = { ...Object.fromEntries(passed), ...environment }
  return spawn(command, args, { cwd: files, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
}

function watch(child: ChildProcess, events: ProgramEvents, onGone: () => void): RunningProgram {
  const { promise: gone, resolve: resolveGone } = Promise.withResolvers<void>()
  let stderr = ''
  let stopped: string | undefined
  let isOver = false
  const kill = () => {
    if (child.pid === undefined || isOver) return
    try {
      // The whole sandbox ends with its outer process.
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended meanwhile.
    }
  }
  const end = (how: string) => {
    if (isOver) return
    isOver = true
    onGone()
    resolveGone()
    const words = stderr.trim()
    events.onEnd(stopped ?? (words === '' ? how : `${how}: ${words}`))
  }
  const stop = async (why: string) => {
    if (isOver) return
    stopped ??= why
    child.stdin!.end()
    const timer = setTimeout(kill, GRACE_MS)
    await gone
    clearTimeout(timer)
  }
  child.stdin!.on('error', () => {})
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-STDERR_CHARACTERS)
  })
  readLines(child.stdout!, {
    maxBytes: MAX_LINE_BYTES,
    onLine: (line) => isOver || events.onLine(line),
    onOverflow() {
      stopped ??= `it sent more than ${MAX_LINE_BYTES} bytes in one line`
      kill()
    },
  })
  child.once('error', (fault) => end(toSandboxError(fault.message).message))
  // `close` comes after the last output.
  child.once('exit', kill)
  child.once('close', (code, signal) => end(`it ended with ${signal ?? `exit code ${code}`}`))
  return {
    write(line) {
      if (isOver || stopped !== undefined || child.stdin!.writableLength > MAX_UNREAD_BYTES) return false
      child.stdin!.write(`${line}\n`)
      return true
    },
    stop,
  }
}
