import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync } from 'node:fs'
import type { Socket } from 'node:net'
import { setPriority } from 'node:os'
import type { CommandWish, KillReason, LimitName, ProcessEnding, ProcessState } from '../../ports/workspaces.ts'
import { pause } from './kill.ts'
import { type Collector, collect } from './output.ts'
import type { Pipes } from './pipes.ts'
import { MARK } from './process-table.ts'
import { newPrunedLog, toPrune } from './prune.ts'
import type { Beginning, End, Spool } from './spool.ts'
import type { Tags } from './tags.ts'
import type { Invocation, Terminal } from './terminal.ts'

export type Entry = {
  beginning: Beginning
  end?: End
  outputBytes: number
  dropped: number
  child?: ChildProcess
  collector?: Collector
  input?: Socket
  /** Set before it is ended by us: an end that follows is ours. */
  verdict?: { type: 'killed'; why: KillReason } | { type: 'over-limit'; limit: LimitName }
  ended: PromiseWithResolvers<void>
  begun: Promise<void>
}

const COMMAND_PRIORITY = 15

/** What a command has written last is still in the pipe when it exits; whoever it left behind may keep the pipe open. */
const DRAIN_MS = 60

/** Every command of this workspace that is remembered: those that run, and those that ended. */
export function newProcesses(options: { spool: Spool; pipes: Pipes; terminal: Terminal; tags: Tags; onStart(): void }) {
  const { spool, pipes, terminal, tags } = options
  const entries = new Map<string, Entry>()
  const byKey = new Map<string, Entry>()
  const roots = new Map<number, string>()
  const pruned = newPrunedLog(spool.folder)

  for (const { beginning, end, outputBytes } of spool.read()) {
    const settled = end ?? { endedAt: Date.now(), ending: { type: 'lost' } as const, dropped: 0 }
    // Whatever ran in the former life of this supervisor ended with it.
    if (!end) spool.end(beginning.processId, settled)
    const ended = Promise.withResolvers<void>()
    ended.resolve()
    remember({ beginning, end: settled, outputBytes, dropped: settled.dropped, ended, begun: ended.promise })
  }
  prune()

  function remember(entry: Entry): Entry {
    entries.set(entry.beginning.processId, entry)
    byKey.set(entry.beginning.key, entry)
    return entry
  }

  async function start(wish: CommandWish): Promise<ProcessState> {
    const known = byKey.get(wish.key)
    if (known) {
      await known.begun
      return stateOf(known)
    }
    const earlier = pruned.find(wish.key)
    if (earlier) return earlier
    const beginning: Beginning = {
      ...{ processId: newProcessId(entries), key: wish.key, command: wish.command, runId: wish.runId },
      ...{ background: wish.background, startedAt: Date.now() },
    }
    // On disk before anything runs: whoever dies from here on leaves a command that was begun, and never one to begin again.
    spool.begin(beginning)
    const ended = Promise.withResolvers<void>()
    const entry: Entry = { beginning, outputBytes: 0, dropped: 0, ended, begun: ended.promise }
    remember(entry)
    entry.begun = launch(entry)
    await entry.begun
    options.onStart()
    return stateOf(entry)
  }

  async function launch(entry: Entry): Promise<void> {
    const { processId, background, command } = entry.beginning
    const stateFile = background ? undefined : spool.stateFile(processId)
    const open: number[] = []
    try {
      const output = await pipes.forOutput()
      open.push(output.theirs)
      entry.collector = collect(output.ours, spool.outputFile(processId))
      const input = background ? await pipes.forInput() : undefined
      if (input) {
        open.push(input.theirs)
        entry.input = input.ours.on('error', () => void entry.input?.destroy())
      }
      const stdin = input?.theirs ?? ('ignore' as const)
      const child = spawnCommand(
        terminal.invocation(command, {
          ...{ scriptFile: spool.scriptFile(processId), tag: tags.give(processId) },
          ...(stateFile ? { stateFile } : {}),
        }),
        processId,
        [stdin, output.theirs],
      )
      entry.child = child
      if (child.pid === undefined) throw await failureOf(child)
      roots.set(child.pid, processId)
      lowerPriority(child.pid)
      child.once('exit', (code, signal) => {
        roots.delete(child.pid!)
        void settle(entry, endingOf(entry, code, signal), stateFile)
      })
    } catch (fault) {
      entry.outputBytes = spool.say(processId, `The command could not be started: ${(fault as Error).message}\n`)
      entry.collector?.stop()
      delete entry.collector
      await settle(entry, { type: 'exited', code: 126 })
    } finally {
      for (const descriptor of open) closeSync(descriptor)
    }
  }

  async function settle(entry: Entry, ending: ProcessEnding, stateFile?: string): Promise<void> {
    const { collector, beginning } = entry
    if (collector) await Promise.race([collector.ended, pause(DRAIN_MS)])
    entry.input?.destroy()
    entry.end = { endedAt: Date.now(), ending, dropped: collector?.dropped ?? 0 }
    try {
      spool.end(beginning.processId, entry.end)
      if (stateFile && !beginning.background) terminal.adopt(stateFile)
      prune()
    } catch (fault) {
      // A full disk: it is told now, and would be lost after a restart.
      spool.note(fault)
    } finally {
      entry.ended.resolve()
    }
  }

  function prune(): void {
    for (const entry of toPrune([...entries.values()], Date.now())) {
      pruned.add(stateOf(entry))
      entries.delete(entry.beginning.processId)
      byKey.delete(entry.beginning.key)
      entry.collector?.stop()
      spool.remove(entry.beginning.processId)
    }
  }

  return {
    start,
    roots: () => roots,
    running: (): Entry[] => [...entries.values()].filter((entry) => !entry.end),
    all: (): Entry[] => [...entries.values()],
    find: (processId: string): Entry | undefined => entries.get(processId),
    findByKey: async (key: string): Promise<ProcessState | undefined> => {
      const entry = byKey.get(key)
      if (entry) await entry.begun
      return entry ? stateOf(entry) : pruned.find(key)
    },
    write(entry: Entry, { text, end }: { text: string; end: boolean }): boolean {
      const { input } = entry
      if (entry.end || !input || input.destroyed || !input.writable) return false
      // A command that does not read must not fill our memory.
      if (input.writableLength + text.length > 4 * 1024 * 1024) return false
      if (text) input.write(text)
      if (end) input.end()
      return true
    },
    detach(entry: Entry): void {
      if (entry.beginning.background || entry.end) return
      entry.beginning.background = true
      spool.begin(entry.beginning)
    },
  }
}

export type Processes = ReturnType<typeof newProcesses>

export function stateOf(entry: Entry): ProcessState {
  const { beginning, end, collector } = entry
  const outputBytes = collector ? collector.written : entry.outputBytes
  return { ...beginning, ...(end ? { endedAt: end.endedAt, ending: end.ending } : {}), outputBytes }
}

function endingOf({ verdict }: Entry, code: number | null, signal: NodeJS.Signals | null): ProcessEnding {
  if (verdict?.type === 'over-limit') return verdict
  if (verdict) return { type: 'killed', signal: signal ?? 'SIGTERM', why: verdict.why }
  // The one signal that comes from a limit of ours: a file larger than the whole workspace may be.
  if (signal === 'SIGXFSZ') return { type: 'over-limit', limit: 'disk' }
  return signal ? { type: 'killed', signal } : { type: 'exited', code: code ?? 0 }
}

function spawnCommand(
  { file, parameters, cwd, environment }: Invocation,
  processId: string,
  [stdin, output]: ['ignore' | number, number],
): ChildProcess {
  return spawn(file, parameters, {
    cwd,
    env: { ...environment, [MARK]: processId },
    stdio: [stdin, output, output],
    // A session of its own: signals to its group reach nobody else.
    detached: true,
  })
}

const failureOf = (child: ChildProcess): Promise<Error> => new Promise((resolve) => child.once('error', resolve))

/** The server and the supervisors come first: whoever ends a thousand processes must get its turn among them. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, COMMAND_PRIORITY)
  } catch {
    // It has ended already.
  }
}

function newProcessId(taken: ReadonlyMap<string, unknown>): string {
  for (;;) {
    const id = `process-${randomBytes(4).toString('hex')}`
    if (!taken.has(id)) return id
  }
}
