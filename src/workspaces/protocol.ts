import type { Json } from '../core/json.ts'
import type { CommandRequest, Containment, KillReason, OutputRange, WorkspaceQuota } from '../ports/workspaces.ts'
import type { FileRequest } from './file-protocol.ts'

/** What a supervisor is started with. It is visible inside the sandbox: nothing in it is a secret. */
export type SupervisorConfig = {
  version: 1
  containment: Containment
  /** As the supervisor sees them. */
  folder: string
  spool: string
  quota: WorkspaceQuota
  /** What a command is given, and nothing else. */
  environment: Record<string, string>
  /** Where there is a way out: the folder with the sockets of those who open it, and the port it is reached at inside. */
  egress?: { folder: string; port: number }
  /** Without anything to do and without anybody connected. */
  sleepAfterMs: number
  /** The descriptor of the socket that is listened on. */
  socket: number
}

/** One JSON value a line, both ways. Several questions may be open at once. */
export type QuestionEnvelope = { id: number; ask: SupervisorQuestion }

export type SupervisorQuestion =
  | { type: 'hello' }
  | { type: 'start'; wish: CommandRequest }
  | { type: 'processes' }
  | { type: 'process'; processId: string }
  | { type: 'find-by-key'; key: string }
  /** Answered when it has ended. */
  | { type: 'wait'; processId: string }
  /** The one who asked that question waits no more. */
  | { type: 'forget'; question: number }
  | { type: 'output'; processId: string; range: OutputRange }
  | { type: 'write'; processId: string; text: string; end: boolean }
  | { type: 'detach'; processId: string }
  | { type: 'kill'; processId: string; why: KillReason }
  | { type: 'end-of'; runId: string; why: KillReason }
  | { type: 'usage' }
  | { type: 'file'; request: FileRequest }
  /** Everything in it ends, and then the supervisor. */
  | { type: 'end'; why: KillReason }
  /** It goes to sleep if there is nothing to do; answered with whether it does. */
  | { type: 'rest' }

export type AnswerEnvelope = { id: number; answer: Json } | { id: number; fault: SupervisorFault; message: string }

export type SupervisorFault = 'unknown-process' | 'unavailable'

export type SupervisorHello = { orders: SupervisorConfig; startedAt: number }
