import { existsSync } from 'node:fs'
import { createConnection, type Socket } from 'node:net'
import type { KillReason, ProcessState } from '../../ports/workspaces.ts'
import type { SupervisorConfig, SupervisorFault, SupervisorHello, SupervisorQuestion } from '../protocol.ts'
import type { FileHandler } from './files/file-handler.ts'
import { type Killer, pause } from './kill.ts'
import type { Limits } from './limits.ts'
import { listeningPorts } from './listening-ports.ts'
import { readOutput } from './output.ts'
import type { ProcessOwners } from './process-owners.ts'
import { type ProcessEntry, type Processes, stateOf } from './processes.ts'
import { type Spool, sizeOf } from './spool.ts'

export class SupervisorError extends Error {
  readonly fault: SupervisorFault
  constructor(fault: SupervisorFault, message: string) {
    super(message)
    this.fault = fault
  }
}

const UNKILLABLE_MS = 3_000

type RequestHandlerDeps = {
  config: SupervisorConfig
  processes: Processes
  owners: ProcessOwners
  killer: Killer
  limits: Limits
  files: FileHandler
  spool: Spool
  relay: { open(): Promise<void> }
  exit(): void
}

/** Answers the questions of servers, and exits when there is neither a connection nor a process. */
export function newRequestHandler({
  config,
  processes,
  owners,
  killer,
  limits,
  files,
  spool,
  relay,
  exit,
}: RequestHandlerDeps) {
  const startedAt = Date.now()
  let clients = 0
  let sleep: NodeJS.Timeout | undefined

  const isIdle = () => processes.running().length === 0 && owners.members().every((member) => member.isZombie)

  function scheduleSleep(): void {
    clearTimeout(sleep)
    sleep = setTimeout(() => {
      if (clients === 0 && isIdle()) exit()
      else scheduleSleep()
    }, config.sleepAfterMs)
  }

  async function endProcesses(entries: ProcessEntry[], why: KillReason): Promise<void> {
    await Promise.all(entries.map((entry) => entry.launched))
    for (const entry of entries) if (!entry.end) entry.plannedEnding ??= { type: 'killed', why }
    await killer.end(new Set(entries.map((entry) => entry.start.processId)))
    // A process that hangs in the kernel cannot be killed; the caller does not wait for it.
    await Promise.race([Promise.all(entries.map((entry) => entry.ended.promise)), pause(UNKILLABLE_MS)])
  }

  function requireProcess(processId: string): ProcessEntry {
    const entry = processes.find(processId)
    if (entry) return entry
    throw new SupervisorError('unknown-process', `There is no process ${processId} in this workspace.`)
  }

  async function answer(question: SupervisorQuestion): Promise<unknown> {
    switch (question.type) {
      case 'hello':
        return { orders: config, startedAt } satisfies SupervisorHello
      case 'start':
        return processes.start(question.wish)
      case 'start-program': {
        const { file } = question.wish
        if (!existsSync(file)) throw new SupervisorError('missing-program', `There is no ${file} here.`)
        if (question.wish.hasEgress) await relay.open()
        return processes.startProgram(question.wish)
      }
      case 'processes':
        return processes.all().map(stateOf)
      case 'process':
        return stateOrNull(processes.find(question.processId))
      case 'find-by-key':
        return (await processes.findByKey(question.key)) ?? null
      case 'wait': {
        const entry = requireProcess(question.processId)
        await entry.ended.promise
        return stateOf(entry)
      }
      case 'output': {
        const entry = requireProcess(question.processId)
        const { stream = 'output' } = question
        const file = spool.streamFile(question.processId, stream)
        if (stream !== 'output') return readOutput(file, question.range, { total: sizeOf(file), dropped: 0 })
        const total = entry.collector?.written ?? entry.outputBytes
        const dropped = entry.collector?.dropped ?? entry.dropped
        return readOutput(file, question.range, { total, dropped })
      }
      case 'write':
        return processes.write(requireProcess(question.processId), question)
      case 'detach': {
        const entry = requireProcess(question.processId)
        processes.detach(entry)
        return stateOf(entry)
      }
      case 'kill': {
        const entry = requireProcess(question.processId)
        await endProcesses([entry], question.why)
        return stateOf(entry)
      }
      case 'end-of':
        await endProcesses(
          processes.all().filter((entry) => entry.start.runId === question.runId),
          question.why,
        )
        return null
      case 'usage':
        return limits.usage()
      case 'ports':
        return listeningPorts(owners.members()).map(({ port, processId }) => ({ port, processId }))
      case 'connect':
        throw new SupervisorError('unavailable', 'This connection carries questions.')
      case 'file':
        return files.answer(question.request)
      case 'end':
        await endProcesses(processes.all(), question.why)
        setImmediate(exit)
        return null
      case 'rest': {
        const canSleep = clients <= 1 && isIdle()
        if (canSleep) setTimeout(() => void (clients <= 1 && isIdle() && exit()), 20)
        return canSleep
      }
      case 'forget':
        return null
    }
  }

  /** A connection to a port on which a process of this workspace listens. */
  async function connectTo(port: number): Promise<Socket> {
    const open = listeningPorts(owners.members()).find((one) => one.port === port)
    if (!open) throw new SupervisorError('unavailable', `No process of this workspace listens on port ${port}.`)
    const socket = createConnection({ host: open.host, port, allowHalfOpen: true })
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    return socket
  }

  return {
    answer,
    connectTo,
    onConnect(): void {
      clients++
      clearTimeout(sleep)
    },
    onDisconnect(): void {
      clients = Math.max(0, clients - 1)
      if (clients === 0) scheduleSleep()
    },
  }
}

export type RequestHandler = ReturnType<typeof newRequestHandler>

const stateOrNull = (entry: ProcessEntry | undefined): ProcessState | null => (entry ? stateOf(entry) : null)
