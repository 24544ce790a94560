import type { ConversationId, RunId } from '../core/id.ts'
import type { WorkspaceFiles } from './workspace-files.ts'

/**
 * What a conversation has on this machine: a folder, a terminal, processes. It is found again by the conversation alone,
 * so an eviction, a restart and a kill -9 of the server leave it as it is.
 */
export type Workspaces = {
  /** Made on first use. Rejects with a WorkspaceError where it cannot be had, in words for the model. */
  open(conversationId: ConversationId): Promise<Workspace>
  /** Without making one. */
  find(conversationId: ConversationId): Promise<Workspace | undefined>
  /** Every conversation that has one here, without waking any of them. */
  list(): Promise<ConversationId[]>
  /** How one stands, without waking it. */
  peek(conversationId: ConversationId): Promise<WorkspaceSummary | undefined>
  /** With what runs and ran in it; one that sleeps is woken for as long as it takes. */
  inspect(conversationId: ConversationId): Promise<WorkspaceState | undefined>
  /** For good: its processes end and its folder goes. True if there was one. */
  remove(conversationId: ConversationId): Promise<boolean>
  processWatches: ProcessWatches
  /** Whether one could be had on this machine: tried, not guessed. */
  check(): Promise<SandboxCheck>
  /** Lets go of them; what runs in them runs on. */
  close(): Promise<void>
}

export type WatchedProcess = { conversationId: ConversationId; processId: string }

/** Processes whose end the conversation wants to be told of. On disk, until it was told. */
export type ProcessWatches = {
  add(awaited: WatchedProcess): Promise<void>
  /** Costs next to nothing: it is asked every second. */
  list(): Promise<WatchedProcess[]>
  remove(awaited: WatchedProcess): Promise<void>
}

/** `fault`: why none can be had, and what to do about it. */
export type SandboxCheck = { containment: Containment; fault?: string }

/** What can be told of one that sleeps. */
export type WorkspaceSummary = Omit<WorkspaceState, 'usage' | 'processes'>

export type WorkspaceState = {
  conversationId: ConversationId
  /** Where its folder is, as the operator sees it. */
  folder: string
  /** `asleep`: nothing runs in it and nobody keeps it; it wakes when it is used. */
  status: 'awake' | 'asleep'
  /** How it is held: in a sandbox or, where the operator said so, in none. */
  containment: Containment
  createdAt: number
  usage: { diskBytes: number; processes: number; memoryBytes: number }
  quota: WorkspaceQuota
  processes: ProcessState[]
}

/** `local` is no sandbox. */
export const CONTAINMENTS = ['bubblewrap', 'local'] as const

export type Containment = (typeof CONTAINMENTS)[number]

export type WorkspaceQuota = { diskBytes: number; processes: number; memoryBytes: number }

export type Workspace = {
  conversationId: ConversationId
  /** The same key is the same process, however often it is asked for. */
  start(wish: CommandRequest): Promise<ProcessState>
  processes(): Promise<ProcessState[]>
  process(processId: string): Promise<ProcessState | undefined>
  /** What became of the command with that key; undefined when it never began. */
  findByKey(key: string): Promise<ProcessState | undefined>
  /** Resolves when it has ended, or with how it is when the signal aborts. */
  wait(processId: string, signal: AbortSignal): Promise<ProcessState>
  output(processId: string, range: OutputRange): Promise<ProcessOutput>
  /** False when it has ended or reads no more. */
  write(processId: string, input: { text: string; end?: boolean }): Promise<boolean>
  /** A foreground command becomes one nobody waits for. */
  detach(processId: string): Promise<ProcessState>
  /** First politely, then for good; with everything it started. Resolves when it has ended. */
  kill(processId: string, why: KillReason): Promise<ProcessState>
  /** Ends what this run started here, and nothing else. */
  endProcessesOfRun(runId: RunId, why: KillReason): Promise<void>
  files: WorkspaceFiles
}

export type CommandRequest = {
  /** Bound to the call, not to the worker. */
  key: string
  command: string
  runId: RunId
  /** A foreground command shares the working directory and the environment with the next one. */
  background: boolean
}

export type KillReason = 'asked' | 'cancelled' | 'timed-out' | 'removed'

export type LimitName = 'processes' | 'memory' | 'disk'

export type ProcessEnding =
  | { type: 'exited'; code: number }
  /** Without a reason of ours it was sent by something inside. */
  | { type: 'killed'; signal: string; why?: KillReason }
  | { type: 'over-limit'; limit: LimitName }
  /** The machine or the sandbox ended under it. */
  | { type: 'lost' }

export type ProcessState = {
  /** Ours, never the system's, which are used again. */
  processId: string
  key: string
  command: string
  runId: RunId
  background: boolean
  startedAt: number
  endedAt?: number
  ending?: ProcessEnding
  /** Of standard output and error together, complete on disk up to the bound of the spool. */
  outputBytes: number
}

/** From a byte on, or the last ones. */
export type OutputRange = { from: number; limit: number } | { last: number }

export type ProcessOutput = {
  text: string
  from: number
  /** Where the next read goes on. */
  next: number
  total: number
  /** Bytes the command wrote beyond the bound of the spool, which are nowhere. */
  dropped: number
}

/** A workspace that cannot be had or did not answer; the message says what to do about it. */
export class WorkspaceError extends Error {
  readonly fault: WorkspaceFault
  constructor(fault: WorkspaceFault, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'WorkspaceError'
    this.fault = fault
  }
}

/** `missing-sandbox`: bubblewrap is not there. `unavailable`: it may be there later. `gone`: it was removed meanwhile. */
export type WorkspaceFault = 'missing-sandbox' | 'unavailable' | 'gone' | 'unknown-process'
