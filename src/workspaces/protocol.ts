import type { Json } from '../core/json.ts'
import type {
  CommandRequest,
  Containment,
  KillReason,
  OutputRange,
  OutputStream,
  ProgramRequest,
  WorkspaceQuota,
} from '../ports/workspaces.ts'
import type { FileRequest } from './file-protocol.ts'

/** The supervisor's start parameter. It is visible inside the sandbox, so it holds no secret. */
export type SupervisorConfig = {
  /** Grows with the walls of the sandbox: an idle supervisor of an earlier version is replaced. */
  version: 4
  containment: Containment
  /** Paths as the supervisor sees them. */
  folder: string
  spool: string
  quota: WorkspaceQuota
  /** The whole environment of a command. */
  environment: Record<string, string>
  /**
   * In a sandbox: the folder with the sockets of the servers' proxies, and the proxy port inside. `forCommands`: it is
   * open from the start, and not only for programs that ask for it.
   */
  egress?: { folder: string; port: number; forCommands: boolean }
  /** The supervisor exits after this time with no process and no connection. */
  sleepAfterMs: number
  /** The descriptor of the listening socket. */
  socket: number
}

/** The protocol is one JSON value per line, in both directions. Several questions may be open at once. */
export type QuestionEnvelope = { id: number; ask: SupervisorQuestion }

export type SupervisorQuestion =
  | { type: 'hello' }
  | { type: 'start'; wish: CommandRequest }
  | { type: 'start-program'; wish: ProgramRequest }
  | { type: 'processes' }
  | { type: 'process'; processId: string }
  | { type: 'find-by-key'; key: string }
  /** Answered when the process has ended. */
  | { type: 'wait'; processId: string }
  /** Cancels an open question: its answer is not sent. */
  | { type: 'forget'; question: number }
  | { type: 'output'; processId: string; range: OutputRange; stream?: OutputStream }
  | { type: 'write'; processId: string; text: string; end: boolean }
  | { type: 'detach'; processId: string }
  | { type: 'kill'; processId: string; why: KillReason }
  | { type: 'end-of'; runId: string; why: KillReason }
  | { type: 'usage' }
  | { type: 'ports' }
  /** Answered with `connected`; from then on the connection carries the bytes of that port. */
  | { type: 'connect'; port: number }
  | { type: 'file'; request: FileRequest }
  /** Ends all processes, then the supervisor. */
  | { type: 'end'; why: KillReason }
  /** The supervisor exits if it is idle; the answer says whether it does. */
  | { type: 'rest' }

export type AnswerEnvelope = { id: number; answer: Json } | { id: number; fault: SupervisorFault; message: string }

export type SupervisorFault = 'unknown-process' | 'missing-program' | 'unavailable'

export type SupervisorHello = { orders: SupervisorConfig; startedAt: number }
