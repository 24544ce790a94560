import type { Json } from '../core/json.ts'
import { WorkspaceError } from '../ports/workspaces.ts'
import { ConnectionLost, type SupervisorConnection } from './connection.ts'
import type { FileRequest } from './file-protocol.ts'
import type { SupervisorQuestion } from './protocol.ts'

/** Connections to the supervisor of one workspace. */
export type ConnectionSource = {
  /** The open connection, or a new one. */
  open(): Promise<SupervisorConnection>
  /** Removes the connection, so that `open` does not return it again. */
  forget(opened: Promise<SupervisorConnection>): void
  /** True during shutdown: no retry then. */
  isClosed(): boolean
}

const ATTEMPTS = 3

/** Sends a question, and retries it after a lost connection if a repetition does no harm. */
export async function retryQuestion(
  question: SupervisorQuestion,
  options: { signal?: AbortSignal },
  source: ConnectionSource,
): Promise<Json> {
  for (let attempt = 1; ; attempt++) {
    const opened = source.open()
    const connection = await opened
    try {
      return await connection.ask(question, options)
    } catch (fault) {
      if (!(fault instanceof ConnectionLost)) throw fault
      // The close event comes a moment later; until then every further question would be lost on this connection too.
      source.forget(opened)
      if (source.isClosed() || attempt >= ATTEMPTS || !isRepeatable(question)) throw unansweredError(fault)
    }
  }
}

/**
 * Whether a question may be retried after a lost answer. A command has an idempotency key; input typed into one has
 * none.
 */
function isRepeatable(question: SupervisorQuestion): boolean {
  if (question.type === 'write') return false
  if (question.type !== 'file') return true
  const { request } = question
  return !('key' in request) ? READS.has(request.type) : request.key !== undefined
}

const READS: ReadonlySet<FileRequest['type']> = new Set(['read', 'load', 'search'])

const unansweredError = (cause: Error) =>
  new WorkspaceError(
    'unavailable',
    'The workspace did not answer. The request may have taken effect; check before you repeat it.',
    {
      cause,
    },
  )
