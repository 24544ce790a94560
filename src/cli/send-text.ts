import type { Agent } from '../core/agent.ts'
import type { ConversationId, RunId } from '../core/id.ts'
import type { Desk } from '../service/desk.ts'
import { type SendMessage, sendMessage } from '../service/send-message.ts'

export type TextMessage = { agent: Agent; conversationId: ConversationId; text: string } & Pick<
  SendMessage,
  'onGuarded' | 'streamTokens'
>

export async function sendText({ text, ...rest }: TextMessage, desk: Desk): Promise<RunId> {
  const { runId } = await sendMessage({ ...rest, content: [{ type: 'text', text }] }, desk)
  return runId
}
