import type { ToolAnswer, ToolContext } from '../../ports/tool.ts'
import type { FileAnswer, WorkspaceFiles } from '../../ports/workspace-files.ts'
import { WorkspaceError, type Workspaces } from '../../ports/workspaces.ts'
import { failure, success } from '../define-tool.ts'

type FileOperation<T> = {
  /** Safe to be asked again: it changes nothing, or what it changes has a key. */
  ask(files: WorkspaceFiles): Promise<FileAnswer<T>>
  describe(answer: T): string
  /** What is told when nobody heard the end of it. */
  isChange: boolean
}

/** Asks the conversation's workspace, once more if it went away in between, and puts the answer into words for the model. */
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
      if (isAsked && isPassing(error) && !signal.aborted) return once()
      throw error
    })
    return answer.type === 'fault' ? failure(answer.message) : success(describe(answer))
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error
    if (!isAsked || !isChange) return failure(error.message)
    const doubt = 'Whether the file was changed is not known: read it before you go on.'
    return { status: 'unknown', output: `${error.message} ${doubt}` }
  }
}

const isPassing = (error: unknown): boolean => error instanceof WorkspaceError && error.fault === 'unavailable'
