import type { Json } from '../core/json.ts'
import { WorkspaceError } from '../ports/workspaces.ts'
import { ConnectionLost, type SupervisorConnection } from './connection.ts'
import type { SupervisorQuestion } from './protocol.ts'

/** The way to one workspace. */
export type ConnectionSource = {
  /** The connection that is there, or a new one. */
  open(): Promise<SupervisorConnection>
  /** Not to be handed out again. */
  forget(opened: Promise<SupervisorConnection>): void
  /** Nobody is to be asked any more. */
  isClosed(): boolean
}

const ATTEMPTS = 3

/** Asks, and asks again where a connection was lost and asking twice does no harm. */
export async function retryQuestion(
  question: SupervisorQuestion,
  how: { signal?: AbortSignal },
  line: ConnectionSource,
): Promise<Json> {
  for (let attempt = 1; ; attempt++) {
    const opened = line.open()
    const connection = await opened
    try {
      return await connection.ask(question, how)
    } catch (fault) {
      if (!(fault instanceof ConnectionLost)) throw fault
      // That it is closed is told a moment later: until then every further question would be lost on it too.
      line.forget(opened)
      if (line.isClosed() || attempt >= ATTEMPTS || !isRepeatable(question)) throw silent(fault)
    }
  }
}

/** What may be asked again when the answer was lost. A command has its key; what is typed into one has not. */
function isRepeatable(question: SupervisorQuestion): boolean {
  if (question.type === 'write') return false
  if (question.type !== 'file') return true
  const { request } = question
  return request.type === 'read' || request.type === 'search' || request.key !== undefined
}

const silent = (cause: Error) =>
  new WorkspaceError(
    'unavailable',
    'The workspace did not answer. What was asked may have happened; look before you ask again.',
    {
      cause,
    },
  )
