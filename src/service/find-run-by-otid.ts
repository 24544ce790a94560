import type { ConversationId, RunId } from '../core/id.ts'
import type { Desk } from './desk.ts'

export const findRunByOtid = (conversationId: ConversationId, otid: string, desk: Desk): Promise<RunId | undefined> =>
  desk.world.store.runs.ofOtid(desk.organizationId, conversationId, otid)
