import type { Agent } from '../../core/agent.ts'
import { WORKSPACE_TOOLS } from '../../core/base-tools.ts'
import { safeName } from '../../core/gateway/chat-file.ts'
import type { ConversationId } from '../../core/id.ts'
import { WorkspaceError } from '../../ports/workspaces.ts'
import type { ServiceContext } from '../service-context.ts'

/** The conversation that a message is for, whose workspace its files go to. */
export type FileTarget = { agent: Agent; conversationId: ConversationId; onlyTools?: readonly string[] }

/** Files are for agents that can look at them: others are told what was sent. */
export const hasWorkspace = ({ agent, onlyTools }: FileTarget): boolean =>
  agent.tools.some((name) => WORKSPACE_TOOLS.includes(name) && (onlyTools?.includes(name) ?? true))

type ReceivedFile = {
  /** Names the file among all that the chat received; a repetition after a crash has the same. */
  key: string
  name: string
  bytes: Uint8Array
}

/** Puts a file of a chat into the workspace, byte for byte; answers with its path there. */
export async function saveReceived(
  { key, name, bytes }: ReceivedFile,
  { conversationId }: FileTarget,
  { workspaces }: ServiceContext,
): Promise<{ path: string } | { fault: string }> {
  const path = `inbox/${key}-${safeName(name)}`
  for (let tries = 1; ; tries++) {
    try {
      const { files } = await workspaces.open(conversationId)
      const answer = await files.save(path, bytes, `received ${path}`)
      return answer.type === 'fault' ? { fault: answer.message } : { path }
    } catch (error) {
      if (!(error instanceof WorkspaceError)) throw error
      if (error.fault !== 'unavailable' || tries >= MOST_TRIES) return { fault: error.message }
    }
  }
}

/** The supervisor of a workspace may go to sleep as it is asked. */
const MOST_TRIES = 2
