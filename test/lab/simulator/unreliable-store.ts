import type { RunId, WorkerId } from '../../../src/core/id.ts'
import type { ChunkStore } from '../../../src/ports/chunk-store.ts'
import type { ChooseOptions, CredentialChoice, Grant } from '../../../src/ports/credentials.ts'
import type { ModelRequest } from '../../../src/ports/model.ts'
import { StorageError, type StorageFault } from '../../../src/ports/storage-error.ts'
import type { Append, Claim, Store } from '../../../src/ports/store.ts'
import type { KillSwitch } from '../../harness/killable.ts'
import type { Fault, FaultInjector } from './faults.ts'
import type { Kernel } from './kernel.ts'
import type { ParsedPrompt } from './parsed-prompt.ts'
import type { PoolView } from './pool-check.ts'

/** Notified of every commit when it happens, before its writer gets the result. */
export type Observer = {
  appended(process: string, append: Append): Promise<void>
  changed(runId: RunId): Promise<void>
  /** A process looks for runs of dead workers, and the run it found. */
  recovering(process: string): void
  recovered(process: string, claim: Claim | undefined): void
  /** A process took a queued run. */
  claimed(process: string, claim: Claim): void
  /** A process gives a run back, if it still holds it. */
  handingBack(runId: RunId, fence: number): void
  handedBack(process: string, runId: RunId, fence: number): void
  /** A process registers under this worker id. */
  beats(process: string, workerId: WorkerId): void
  /** A process calls a model; returns the request id of the vendor. */
  asked(ask: ModelCall): string
  /** The model completed an answer: `bill` identifies it in the usage, `text` is its full text. */
  answered(bill: number, text: string): void
  /** The members of a pool now, and the choice that a process made from it. */
  viewPool(provider: string): PoolView
  chose(process: string, chosen: Chosen): void
  reached(state: string): void
  report(process: string, fault: unknown, where: string): void
}

export type ModelCall = {
  process: string
  provider: string
  request: ModelRequest
  prompt: ParsedPrompt
  grant?: Grant
  /** On the clock of the process. */
  at: number
}

export type Chosen = { provider: string; options: ChooseOptions; before: PoolView; choice: CredentialChoice }

type UnreliableProcess = {
  name: string
  kernel: Kernel
  injector: FaultInjector
  observer: Observer
  life: KillSwitch
  inside(task: () => void): void
  kill(why: string): void
}

// biome-ignore lint/suspicious/noExplicitAny: one wrapper for every method of a port
type Method = (...parameters: any[]) => Promise<any>

const BEFORE: [Fault, StorageFault][] = [
  ['store-error-before', 'unreachable'],
  ['store-busy', 'busy'],
  ['store-full', 'full'],
]

/** The real store behind an unreliable network and disk: calls take time, fail before and fail after the commit. */
export function unreliableStore(store: Store, host: UnreliableProcess): Store {
  const { observer, name } = host
  const wrap = <T extends object>(room: string, methods: T): T => {
    const wrapped = Object.entries(methods).map(([method, work]) => [
      method,
      withFaults(`${room}.${method}`, work as Method, host),
    ])
    return Object.fromEntries(wrapped) as T
  }
  const append: Method = async (request: Append) => {
    const answer = await store.events.append(request)
    if (answer.type === 'appended') {
      await observer.appended(name, request)
      await observer.changed(request.runId)
    }
    return answer
  }
  const seen =
    (work: Method, idsOf: (answer: never) => (RunId | undefined)[]): Method =>
    async (...parameters) => {
      const answer = await work(...parameters)
      for (const id of idsOf(answer as never)) if (id) await observer.changed(id)
      return answer
    }
  const { runs } = store
  const takeOver: Method = async (...parameters) => {
    const claim: Claim | undefined = await (runs.takeOver as Method)(...parameters).catch((fault) => {
      observer.recovered(name, undefined)
      throw fault
    })
    observer.recovered(name, claim)
    if (claim) await observer.changed(claim.run.id)
    return claim
  }
  const claimNext: Method = async (workerId: WorkerId) => {
    const claim = await runs.claimNext(workerId)
    if (claim && claim !== 'blocked') observer.claimed(name, claim)
    return claim
  }
  const beat: Method = async (workerId: WorkerId, leaseMs: number) => {
    observer.beats(name, workerId)
    return store.workers.beat(workerId, leaseMs)
  }
  const observed = {
    ...runs,
    open: seen(runs.open, (answer: Awaited<ReturnType<typeof runs.open>>) =>
      answer.type === 'opened' ? [answer.run.id, answer.interrupted] : answer.type === 'steered' ? [answer.runId] : [],
    ),
    continueAfterApproval: seen(
      runs.continueAfterApproval,
      (run: Awaited<ReturnType<typeof runs.continueAfterApproval>>) => [run?.id, run?.continues],
    ),
    takeOver,
    claimNext,
    async handBack(runId: RunId, fence: number) {
      observer.handingBack(runId, fence)
      await runs.handBack(runId, fence)
      observer.handedBack(name, runId, fence)
    },
  } as Store['runs']
  return {
    ...store,
    agents: wrap('agents', store.agents),
    conversations: wrap('conversations', store.conversations),
    runs: wrap('runs', observed),
    events: wrap('events', { ...store.events, append } as Store['events']),
    messages: wrap('messages', store.messages),
    sessions: wrap('sessions', store.sessions),
    workers: wrap('workers', { ...store.workers, beat } as Store['workers']),
    credentials: wrap('credentials', store.credentials),
    cooldowns: wrap('cooldowns', store.cooldowns),
    modelNotes: wrap('modelNotes', store.modelNotes),
    onForeignWrite: (listener) =>
      store.onForeignWrite(() => {
        if (host.injector.strikes('wakeup-lost', name)) return
        host.kernel.after(host.kernel.between(0, 20), () => host.inside(listener))
        if (host.injector.strikes('wakeup-doubled', name))
          host.kernel.after(host.kernel.between(0, 200), () => host.inside(listener))
      }),
  }
}

/** The chunk store with delays, and with errors before a write. */
export function unreliableChunks(chunks: ChunkStore, host: UnreliableProcess): ChunkStore {
  const { kernel, injector, life } = host
  const append: ChunkStore['append'] = async (appends) => {
    await pass(host, 1)
    if (injector.strikes('chunks-error', host.name)) throw new StorageError('busy', 'simulated')
    if (!life.isAlive) return new Promise(() => {})
    const answer = await chunks.append(appends)
    await pass(host, kernel.between(0, 2))
    return answer
  }
  const appendAtOnce: ChunkStore['appendSync'] = (piece) => {
    if (injector.strikes('chunks-error', host.name)) throw new StorageError('busy', 'simulated')
    return life.isAlive && chunks.appendSync!(piece)
  }
  return { ...chunks, append, appendSync: appendAtOnce }
}

function withFaults(method: string, work: Method, host: UnreliableProcess): Method {
  const { kernel, injector, observer, life, name, kill } = host
  const where = `${method} of ${name}`
  return async (...parameters) => {
    if (method === 'runs.takeOver') observer.recovering(name)
    await pass(host, injector.strikes('store-slow', where) ? kernel.between(50, 2_000) : kernel.between(0, 3))
    for (const [fault, as] of BEFORE)
      if (injector.strikes(fault, where)) {
        if (method === 'runs.takeOver') observer.recovered(name, undefined)
        throw new StorageError(as, `simulated ${fault} in ${method}`)
      }
    if (isWrite(method) && injector.strikes('process-dies-before-write', where)) kill(`it dies before ${method}`)
    if (!life.isAlive) return new Promise(() => {})
    const answer = await work(...parameters)
    if (isWrite(method) && injector.strikes('process-dies-after-write', where)) kill(`it dies after ${method}`)
    await pass(host, kernel.between(0, 3))
    if (isWrite(method) && injector.strikes('store-error-after', where)) {
      if (method === 'runs.open') observer.reached('commit-unknown on intake')
      throw new StorageError('outcome-unknown', `simulated error after the commit of ${method}`)
    }
    return answer
  }
}

const READS =
  /\.(get|getAnywhere|list|read|steps|expired|context|ofRun|findByName|defaultOf|heldBy|pool|sealedPage|policies|idle)$/
const isWrite = (method: string) => !READS.test(method)

/** Lets virtual time pass; afterwards the process may be paused or dead. */
const pass = ({ kernel, inside }: UnreliableProcess, ms: number): Promise<void> =>
  new Promise((resolve) => kernel.after(ms, () => inside(resolve)))
