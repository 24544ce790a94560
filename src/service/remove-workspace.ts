import type { ConversationId } from '../core/id.ts'
import type { ProcessState } from '../ports/workspaces.ts'
import { entryOf } from './audit.ts'
import type { Desk } from './desk.ts'
import { findByConversation } from './find-by-conversation.ts'
import { noWorkspace, requireProcess, requireWorkspace, requireWorkspaces, telling } from './workspace-desk.ts'

/** For good, with all that runs in it. The conversation stays; its next command finds an empty workspace. */
export async function removeWorkspace(id: ConversationId, desk: Desk): Promise<void> {
  await findByConversation(id, desk)
  if (!(await telling(requireWorkspaces(desk).remove(id)))) throw noWorkspace(id)
  await desk.world.store.audit.append(entryOf({ verb: 'workspace.remove', object: id }, desk))
}

export type EndProcess = { conversationId: ConversationId; processId: string }

/** First politely, then for good; resolves with how it ended. One that has ended is left as it is. */
export async function endProcess({ conversationId, processId }: EndProcess, desk: Desk): Promise<ProcessState> {
  const { conversation } = await findByConversation(conversationId, desk)
  const workspace = await requireWorkspace(conversation, desk)
  const process = await requireProcess(workspace, processId)
  if (process.ending) return process
  const ended = await telling(workspace.kill(processId, 'asked'))
  await desk.world.store.audit.append(entryOf({ verb: 'process.end', object: conversationId }, desk))
  return ended
}
