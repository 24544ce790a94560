import type { KillReason, ProcessState } from '../../ports/workspaces.ts'
import type { SupervisorConfig, SupervisorFault, SupervisorHello, SupervisorQuestion } from '../protocol.ts'
import type { FileHandler } from './files/file-handler.ts'
import { type Killer, pause } from './kill.ts'
import type { Limits } from './limits.ts'
import { readOutput } from './output.ts'
import type { ProcessOwners } from './process-owners.ts'
import { type ProcessEntry, type Processes, stateOf } from './processes.ts'
import type { Spool } from './spool.ts'

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
  exit(): void
}

/** Answers what a server asks, and goes to sleep when nobody asks and nothing runs. */
export function newRequestHandler({
  config,
  processes,
  owners,
  killer,
  limits,
  files,
  spool,
  exit,
}: RequestHandlerDeps) {
  const startedAt = Date.now()
  let clients = 0
  let sleep: NodeJS.Timeout | undefined

  const isIdle = () => processes.running().length === 0 && owners.members().every((member) => member.isZombie)

  function planSleep(): void {
    clearTimeout(sleep)
    sleep = setTimeout(() => {
      if (clients === 0 && isIdle()) exit()
      else planSleep()
    }, config.sleepAfterMs)
  }

  async function end(entries: ProcessEntry[], why: KillReason): Promise<void> {
    await Promise.all(entries.map((entry) => entry.launched))
    for (const entry of entries) if (!entry.end) entry.plannedEnding ??= { type: 'killed', why }
    await killer.end(new Set(entries.map((entry) => entry.start.processId)))
    // What hangs in the kernel cannot be ended by anybody; whoever asked is not kept waiting for it.
    await Promise.race([Promise.all(entries.map((entry) => entry.ended.promise)), pause(UNKILLABLE_MS)])
  }

  function required(processId: string): ProcessEntry {
    const entry = processes.find(processId)
    if (entry) return entry
    throw new SupervisorError('unknown-process', `There is no process ${processId} here.`)
  }

  async function answer(question: SupervisorQuestion): Promise<unknown> {
    switch (question.type) {
      case 'hello':
        return { orders: config, startedAt } satisfies SupervisorHello
      case 'start':
        return processes.start(question.wish)
      case 'processes':
        return processes.all().map(stateOf)
      case 'process':
        return stateOrNull(processes.find(question.processId))
      case 'find-by-key':
        return (await processes.findByKey(question.key)) ?? null
      case 'wait': {
        const entry = required(question.processId)
        await entry.ended.promise
        return stateOf(entry)
      }
      case 'output': {
        const entry = required(question.processId)
        const total = entry.collector?.written ?? entry.outputBytes
        const dropped = entry.collector?.dropped ?? entry.dropped
        return readOutput(spool.outputFile(question.processId), question.range, { total, dropped })
      }
      case 'write':
        return processes.write(required(question.processId), question)
      case 'detach': {
        const entry = required(question.processId)
        processes.detach(entry)
        return stateOf(entry)
      }
      case 'kill': {
        const entry = required(question.processId)
        await end([entry], question.why)
        return stateOf(entry)
      }
      case 'end-of':
        await end(
          processes.all().filter((entry) => entry.start.runId === question.runId),
          question.why,
        )
        return null
      case 'usage':
        return limits.usage()
      case 'file':
        return files.answer(question.request)
      case 'end':
        await end(processes.all(), question.why)
        setImmediate(exit)
        return null
      case 'rest': {
        const rests = clients <= 1 && isIdle()
        if (rests) setTimeout(() => void (clients <= 1 && isIdle() && exit()), 20)
        return rests
      }
      case 'forget':
        return null
    }
  }

  return {
    answer,
    clientCame(): void {
      clients++
      clearTimeout(sleep)
    },
    clientLeft(): void {
      clients = Math.max(0, clients - 1)
      if (clients === 0) planSleep()
    },
  }
}

export type RequestHandler = ReturnType<typeof newRequestHandler>

const stateOrNull = (entry: ProcessEntry | undefined): ProcessState | null => (entry ? stateOf(entry) : null)
