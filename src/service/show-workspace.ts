import type { ConversationId } from '../core/id.ts'
import type { OutputRange, ProcessOutput, ProcessState } from '../ports/workspaces.ts'
import type { Desk } from './desk.ts'
import { findByConversation } from './find-by-conversation.ts'
import {
  noWorkspace,
  requireProcess,
  requireWorkspace,
  requireWorkspaces,
  type ShownWorkspace,
  telling,
} from './workspace-desk.ts'

/** What a conversation has on this machine: state, use, limits and processes. Somebody else's looks missing. */
export async function showWorkspace(id: ConversationId, desk: Desk): Promise<ShownWorkspace> {
  const { agent, conversation } = await findByConversation(id, desk)
  const state = await telling(requireWorkspaces(desk).inspect(id))
  if (state) return { agent, conversation, state }
  throw noWorkspace(id)
}

export type ProcessQuestion = { conversationId: ConversationId; processId: string; range: OutputRange }

/** How a process stands, with a piece of what it wrote. */
export async function showProcess(
  { conversationId, processId, range }: ProcessQuestion,
  desk: Desk,
): Promise<{ process: ProcessState; output: ProcessOutput }> {
  const { conversation } = await findByConversation(conversationId, desk)
  const workspace = await requireWorkspace(conversation, desk)
  const process = await requireProcess(workspace, processId)
  return { process, output: await telling(workspace.output(processId, range)) }
}
