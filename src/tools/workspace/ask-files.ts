import type { ToolAnswer, ToolContext } from '../../ports/tool.ts'
import type { FileAnswer, WorkspaceFiles } from '../../ports/workspace-files.ts'
import { WorkspaceError, type Workspaces } from '../../ports/workspaces.ts'
import { failure, success } from '../define-tool.ts'

type FileOperation<T> = {
  /** Safe to retry: it changes nothing, or the change has an idempotency key. */
  ask(files: WorkspaceFiles): Promise<FileAnswer<T>>
  describe(answer: T): string
  /** A lost answer is then reported as unknown, otherwise as an error. */
  isChange: boolean
}

/** Runs a file operation in the conversation's workspace, with one retry if the supervisor went away. */
export async function askFiles<T>(
  workspaces: Pick<Workspaces, 'open'>,
  { conversationId, signal }: Pick<ToolContext, 'conversationId' | 'signal'>,
  { ask, describe, isChange }: FileOperation<T>,
): Promise<ToolAnswer> {
  let isAsked = false
  const once = async () => {
    const { files } = await workspaces.open(conversationId)
    isAsked = true
    return ask(files)
  }
  try {
    const answer = await once().catch((error: unknown) => {
      if (isAsked && isTransient(error) && !signal.aborted) return once()
      throw error
    })
    return answer.type === 'fault' ? failure(answer.message) : success(describe(answer))
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error
    if (!isAsked || !isChange) return failure(error.message)
    const advice = 'Whether the file was changed is not known: read it before you go on.'
    return { status: 'unknown', output: `${error.message} ${advice}` }
  }
}

const isTransient = (error: unknown): boolean => error instanceof WorkspaceError && error.fault === 'unavailable'
