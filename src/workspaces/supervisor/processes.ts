import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync } from 'node:fs'
import type { Socket } from 'node:net'
import { setPriority } from 'node:os'
import { defined } from '../../core/defined.ts'
import type {
  CommandRequest,
  KillReason,
  LimitName,
  ProcessEnding,
  ProcessState,
  ProgramRequest,
} from '../../ports/workspaces.ts'
import { pause } from './kill.ts'
import { collectOutput, type OutputCollector } from './output.ts'
import type { Pipes } from './pipes.ts'
import { MARK } from './process-table.ts'
import { findPrunable, newPrunedLog } from './prune.ts'
import type { ProcessEnd, ProcessStart, Spool } from './spool.ts'
import type { Tags } from './tags.ts'
import type { Invocation, Terminal } from './terminal.ts'

export type ProcessEntry = {
  start: ProcessStart
  end?: ProcessEnd
  outputBytes: number
  dropped: number
  child?: ChildProcess
  collector?: OutputCollector
  /** Of a program: its standard error. */
  errors?: OutputCollector
  input?: Socket
  /** Set before the supervisor ends the process, so that its exit is reported with the reason. */
  plannedEnding?: { type: 'killed'; why: KillReason } | { type: 'over-limit'; limit: LimitName }
  ended: PromiseWithResolvers<void>
  launched: Promise<void>
  /** How often the kernel had ended a process for memory when this one started. */
  killsBefore?: number
}

const OVER_MEMORY: ProcessEnding = { type: 'over-limit', limit: 'memory' }
/** The lowest: commands of one tenant must not take the processor from the server and its other tenants. */
const COMMAND_PRIORITY = 19

/** The last output may still be in the pipe when a command exits; a process it left behind may keep the pipe open. */
const DRAIN_MS = 60

type ProcessesDeps = {
  spool: Spool
  pipes: Pipes
  terminal: Terminal
  tags: Tags
  onStart(): void
  /** What it started may still run. */
  onProgramEnd(processId: string): void
  /** How often the kernel has ended a process of this workspace because its memory was full. */
  memoryKills(): number
}

/** The commands of this workspace: running ones, and ended ones that are not pruned yet. */
export function newProcesses(options: ProcessesDeps) {
  const { spool, pipes, terminal, tags } = options
  const entries = new Map<string, ProcessEntry>()
  const byKey = new Map<string, ProcessEntry>()
  const roots = new Map<number, string>()
  const pruned = newPrunedLog(spool.folder)

  for (const { start: started, end, outputBytes } of spool.read()) {
    const settled = end ?? { endedAt: Date.now(), ending: { type: 'lost' } as const, dropped: 0 }
    // Commands of a former supervisor ended with it.
    if (!end) spool.recordEnd(started.processId, settled)
    const ended = Promise.withResolvers<void>()
    ended.resolve()
    remember({ start: started, end: settled, outputBytes, dropped: settled.dropped, ended, launched: ended.promise })
  }
  prune()

  function remember(entry: ProcessEntry): ProcessEntry {
    entries.set(entry.start.processId, entry)
    byKey.set(entry.start.key, entry)
    return entry
  }

  type StartRequest = Omit<CommandRequest, 'background'> & { background: boolean; program?: ProgramRequest }

  const startProgram = (program: ProgramRequest): Promise<ProcessState> => {
    const { key, runId, title } = program
    return start({ key, runId, command: title, background: true, program })
  }

  async function start(request: StartRequest): Promise<ProcessState> {
    const known = byKey.get(request.key)
    if (known) {
      await known.launched
      return stateOf(known)
    }
    const earlier = pruned.find(request.key)
    if (earlier) return earlier
    const started: ProcessStart = {
      processId: newProcessId(entries),
      key: request.key,
      command: request.command,
      runId: request.runId,
      background: request.background,
      startedAt: Date.now(),
    }
    // On disk before the command runs: after a crash it counts as started and never runs a second time.
    spool.recordStart(started)
    const ended = Promise.withResolvers<void>()
    const entry: ProcessEntry = { start: started, outputBytes: 0, dropped: 0, ended, launched: ended.promise }
    remember(entry)
    entry.launched = launch(entry, request.program)
    await entry.launched
    options.onStart()
    return stateOf(entry)
  }

  async function launch(entry: ProcessEntry, program?: ProgramRequest): Promise<void> {
    const { processId, background, command } = entry.start
    const stateFile = background ? undefined : spool.stateFile(processId)
    const open: number[] = []
    try {
      const output = await pipes.forOutput()
      open.push(output.theirs)
      entry.collector = collectOutput(output.ours, spool.streamFile(processId, 'output'))
      const errors = program ? await pipes.forOutput() : undefined
      if (errors) {
        open.push(errors.theirs)
        entry.errors = collectOutput(errors.ours, spool.streamFile(processId, 'errors'))
      }
      const input = background ? await pipes.forInput() : undefined
      if (input) {
        open.push(input.theirs)
        entry.input = input.ours.on('error', () => void entry.input?.destroy())
      }
      const stdin = input?.theirs ?? ('ignore' as const)
      const tag = tags.assign(processId)
      const scriptFile = spool.scriptFile(processId)
      const invocation = program
        ? terminal.programInvocation(program, { tag, resultFile: spool.streamFile(processId, 'result') })
        : terminal.invocation(command, { scriptFile, tag, ...defined({ stateFile: stateFile || undefined }) })
      const child = spawnCommand(invocation, processId, [stdin, output.theirs, errors?.theirs ?? output.theirs])
      entry.child = child
      if (child.pid === undefined) throw await spawnError(child)
      roots.set(child.pid, processId)
      entry.killsBefore = options.memoryKills()
      lowerPriority(child.pid)
      if (program) entry.input?.end(program.input)
      child.once('exit', (code, signal) => {
        roots.delete(child.pid!)
        const ending = endingOf(entry, code, signal)
        void settle(entry, isMemoryKill(entry, ending) ? OVER_MEMORY : ending, stateFile)
        if (program) options.onProgramEnd(processId)
      })
    } catch (fault) {
      entry.outputBytes = spool.appendOutput(
        processId,
        `The command could not be started: ${(fault as Error).message}\n`,
      )
      entry.collector?.stop()
      entry.errors?.stop()
      delete entry.collector
      await settle(entry, { type: 'exited', code: 126 })
    } finally {
      for (const descriptor of open) closeSync(descriptor)
    }
  }

  /** The shell of a command reports 137 if the kernel killed a process below it. */
  function isMemoryKill({ plannedEnding, killsBefore = 0 }: ProcessEntry, ending: ProcessEnding): boolean {
    const isKilled =
      ending.type === 'killed' ? ending.signal === 'SIGKILL' : ending.type === 'exited' && ending.code === 137
    return isKilled && !plannedEnding && options.memoryKills() > killsBefore
  }

  async function settle(entry: ProcessEntry, ending: ProcessEnding, stateFile?: string): Promise<void> {
    const { collector, errors, start } = entry
    if (collector) await Promise.race([Promise.all([collector.ended, errors?.ended]), pause(DRAIN_MS)])
    entry.input?.destroy()
    entry.end = { endedAt: Date.now(), ending, dropped: collector?.dropped ?? 0 }
    try {
      spool.recordEnd(start.processId, entry.end)
      if (stateFile && !start.background) terminal.adopt(stateFile)
      prune()
    } catch (fault) {
      // A full disk: the ending is reported now, but is lost after a restart.
      spool.logError(fault)
    } finally {
      entry.ended.resolve()
    }
  }

  function prune(): void {
    for (const entry of findPrunable([...entries.values()], Date.now())) {
      pruned.add(stateOf(entry))
      entries.delete(entry.start.processId)
      byKey.delete(entry.start.key)
      entry.collector?.stop()
      entry.errors?.stop()
      spool.remove(entry.start.processId)
    }
  }

  return {
    start,
    startProgram,
    roots: () => roots,
    running: (): ProcessEntry[] => [...entries.values()].filter((entry) => !entry.end),
    all: (): ProcessEntry[] => [...entries.values()],
    find: (processId: string): ProcessEntry | undefined => entries.get(processId),
    findByKey: async (key: string): Promise<ProcessState | undefined> => {
      const entry = byKey.get(key)
      if (entry) await entry.launched
      return entry ? stateOf(entry) : pruned.find(key)
    },
    write(entry: ProcessEntry, { text, end }: { text: string; end: boolean }): boolean {
      const { input } = entry
      if (entry.end || !input || input.destroyed || !input.writable) return false
      // A command that does not read its input must not fill the supervisor's memory.
      if (input.writableLength + text.length > 4 * 1024 * 1024) return false
      if (text) input.write(text)
      if (end) input.end()
      return true
    },
    detach(entry: ProcessEntry): void {
      if (entry.start.background || entry.end) return
      entry.start.background = true
      spool.recordStart(entry.start)
    },
  }
}

export type Processes = ReturnType<typeof newProcesses>

export function stateOf(entry: ProcessEntry): ProcessState {
  const { start, end, collector } = entry
  const outputBytes = collector ? collector.written : entry.outputBytes
  return {
    ...start,
    ...defined({ endedAt: end ? end.endedAt : undefined, ending: end ? end.ending : undefined }),
    outputBytes,
  }
}

function endingOf({ plannedEnding }: ProcessEntry, code: number | null, signal: NodeJS.Signals | null): ProcessEnding {
  if (plannedEnding?.type === 'over-limit') return plannedEnding
  if (plannedEnding) return { type: 'killed', signal: signal ?? 'SIGTERM', why: plannedEnding.why }
  // SIGXFSZ comes from the supervisor's file size limit: the file exceeded the quota of the workspace.
  if (signal === 'SIGXFSZ') return { type: 'over-limit', limit: 'disk' }
  return signal ? { type: 'killed', signal } : { type: 'exited', code: code ?? 0 }
}

function spawnCommand(
  { file, parameters, cwd, environment }: Invocation,
  processId: string,
  [stdin, outputPipe, errorPipe]: ['ignore' | number, number, number],
): ChildProcess {
  return spawn(file, parameters, {
    cwd,
    env: { ...environment, [MARK]: processId },
    stdio: [stdin, outputPipe, errorPipe],
    // A separate session: signals to its group reach no other process.
    detached: true,
  })
}

const spawnError = (child: ChildProcess): Promise<Error> => new Promise((resolve) => child.once('error', resolve))

/**
 * Server and supervisors have priority: a supervisor that ends a thousand processes must get processor time among them.
 */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, COMMAND_PRIORITY)
  } catch {
    // The process has ended already.
  }
}

function newProcessId(taken: ReadonlyMap<string, unknown>): string {
  for (;;) {
    const id = `process-${randomBytes(4).toString('hex')}`
    if (!taken.has(id)) return id
  }
}
