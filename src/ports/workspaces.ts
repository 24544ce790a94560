import type { ConversationId, OrganizationId, RunId } from '../core/id.ts'
import type { WorkspaceFiles } from './workspace-files.ts'

/**
 * A folder, a terminal and processes of a conversation on this machine. The conversation id alone finds it, so
 * evictions, restarts and kill -9 of the server leave it intact.
 */
export type Workspaces = {
  /** Creates the workspace on first use. Rejects with a WorkspaceError, worded for the model. */
  open(conversationId: ConversationId): Promise<Workspace>
  /** Like `open`, without creating one. */
  find(conversationId: ConversationId): Promise<Workspace | undefined>
  /** Conversations that have a workspace here. Wakes none of them. */
  list(): Promise<ConversationId[]>
  /** State of a workspace without its processes. Does not wake it. */
  peek(conversationId: ConversationId): Promise<WorkspaceSummary | undefined>
  /** Full state with its processes. Wakes a sleeping workspace for the duration of the call. */
  inspect(conversationId: ConversationId): Promise<WorkspaceState | undefined>
  /** Ends its processes and deletes its folder. True if there was one. */
  remove(conversationId: ConversationId): Promise<boolean>
  /** Makes a port of a workspace readable by a browser on this machine, until it expires or this process ends. */
  openPage(request: PageRequest): Promise<OpenedPage>
  /** False if it is not open. */
  closePage(conversationId: ConversationId, pageId: string): Promise<boolean>
  /** Environment variables that let one program reach these domains, for a while; none for an empty list. */
  openEgress(request: EgressRequest): Promise<Record<string, string>>
  processWatches: ProcessWatches
  /** Tests whether this machine can run a workspace. */
  check(): Promise<SandboxCheck>
  /** Workspaces of an organization, and those of them that this process has awake. */
  countOf(organizationId: OrganizationId): Promise<{ workspaces: number; awake: number }>
  /** Disconnects from all workspaces; their processes keep running. */
  close(): Promise<void>
}

export type EgressRequest = { conversationId: ConversationId; domains: readonly string[]; seconds: number }

export type WatchedProcess = { conversationId: ConversationId; processId: string }

/** Processes whose end is reported to their conversation. Stored on disk until it is reported. */
export type ProcessWatches = {
  add(awaited: WatchedProcess): Promise<void>
  /** Cheap: it is polled every second. */
  list(): Promise<WatchedProcess[]>
  remove(awaited: WatchedProcess): Promise<void>
}

/**
 * `fault`: why no workspace can run, and what to do about it. `kernel`: the limits that the kernel enforces here; the
 * supervisor checks the others at intervals.
 */
export type SandboxCheck = { containment: Containment; fault?: string; kernel?: readonly KernelLimit[] }

/** A limit that holds at every instant, because the kernel enforces it (cgroup). */
export type KernelLimit = 'memory' | 'processes' | 'processor'

/** State that is available without waking the workspace. */
export type WorkspaceSummary = Omit<WorkspaceState, 'usage' | 'processes' | 'ports'>

export type WorkspaceState = {
  conversationId: ConversationId
  /** Path of its folder on the host. */
  folder: string
  /** `asleep`: no process and no supervisor is running; it wakes on the next use. */
  status: 'awake' | 'asleep'
  /** The sandbox, or `local` for none, if the operator configured that. */
  containment: Containment
  createdAt: number
  usage: { diskBytes: number; processes: number; memoryBytes: number }
  quota: WorkspaceQuota
  processes: ProcessState[]
  ports: ListeningPort[]
}

/** A port on which a process of the workspace listens; `processId` is null if its command is unknown. */
export type ListeningPort = { port: number; processId: string | null }

export type PageRequest = { conversationId: ConversationId; port: number; minutes: number }

/** `url` works once, and leads to an address that works until `expiresAt`. */
export type OpenedPage = { pageId: string; url: string; port: number; expiresAt: number }

/** `local` is not a sandbox. */
export const CONTAINMENTS = ['bubblewrap', 'local'] as const

export type Containment = (typeof CONTAINMENTS)[number]

export type WorkspaceQuota = { diskBytes: number; processes: number; memoryBytes: number }

export type Workspace = {
  conversationId: ConversationId
  /** Requests with the same key are the same process. */
  start(request: CommandRequest): Promise<ProcessState>
  /**
   * Like `start`, for a program instead of a command of the terminal. What it started ends with it. Rejects with the fault `missing-program` if the
   * sandbox has no such file.
   */
  startProgram(request: ProgramRequest): Promise<ProcessState>
  processes(): Promise<ProcessState[]>
  process(processId: string): Promise<ProcessState | undefined>
  /** Process of the command with that key; undefined if it never started. */
  findByKey(key: string): Promise<ProcessState | undefined>
  /** Resolves when the process ends, or with its current state when the signal aborts. */
  wait(processId: string, signal: AbortSignal): Promise<ProcessState>
  output(processId: string, range: OutputRange, stream?: OutputStream): Promise<ProcessOutput>
  /** False if the process has ended or closed its input. */
  write(processId: string, input: { text: string; end?: boolean }): Promise<boolean>
  /** Turns a foreground command into a background one. */
  detach(processId: string): Promise<ProcessState>
  /** Sends SIGTERM, then SIGKILL, to the process and everything it started. Resolves when it has ended. */
  kill(processId: string, why: KillReason): Promise<ProcessState>
  /** Ends the processes that this run started, and no others. */
  endProcessesOfRun(runId: RunId, why: KillReason): Promise<void>
  files: WorkspaceFiles
}

export type CommandRequest = {
  /** Derived from the tool call, so that it survives a change of worker. */
  key: string
  command: string
  runId: RunId
  /** A foreground command shares the working directory and the environment with the next one. */
  background: boolean
}

/** A program that runs in the background, outside of the terminal: nothing of its environment is the terminal's. */
export type ProgramRequest = {
  /** As of a command. */
  key: string
  runId: RunId
  /** Shown in place of a command line. */
  title: string
  file: string
  parameters: string[]
  /** All of its standard input; not stored. */
  input: string
  /** It has variables of `openEgress`. */
  hasEgress?: boolean
}

/**
 * What a process wrote. Standard error is in `output` for commands and in `errors` for programs. `result`: the file that
 * a program finds in HOLDFAST_RESULT.
 */

export type OutputStream = 'output' | 'errors' | 'result'

export type KillReason = 'asked' | 'cancelled' | 'timed-out' | 'removed'

export type LimitName = 'processes' | 'memory' | 'disk'

export type ProcessEnding =
  | { type: 'exited'; code: number }
  /** Without `why`, the signal came from inside the workspace. */
  | { type: 'killed'; signal: string; why?: KillReason }
  | { type: 'over-limit'; limit: LimitName }
  /** The machine or the sandbox went down. */
  | { type: 'lost' }

export type ProcessState = {
  /** Assigned by Holdfast; system pids are reused. */
  processId: string
  key: string
  command: string
  runId: RunId
  background: boolean
  startedAt: number
  endedAt?: number
  ending?: ProcessEnding
  /** Bytes of stdout and stderr together, complete on disk up to the limit of the spool. */
  outputBytes: number
}

/** From a byte offset, or the last bytes. */
export type OutputRange = { from: number; limit: number } | { last: number }

export type ProcessOutput = {
  text: string
  from: number
  /** Offset of the next read. */
  next: number
  total: number
  /** Bytes beyond the limit of the spool, which were discarded. */
  dropped: number
}

/** A workspace that cannot start or did not respond; the message says what to do about it. */
export class WorkspaceError extends Error {
  readonly fault: WorkspaceFault
  constructor(fault: WorkspaceFault, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'WorkspaceError'
    this.fault = fault
  }
}

/**
 * `missing-sandbox`: bubblewrap is not installed. `missing-program`: the sandbox does not have it. `unavailable`: a retry
 * may succeed. `gone`: it was removed meanwhile.
 */
export type WorkspaceFault =
  | 'missing-sandbox'
  | 'missing-program'
  | 'unavailable'
  | 'gone'
  | 'unknown-process'
  | 'over-share'
