import type { ChatSession, CommandOutcome } from './chat-session.ts'

export type SlashCommand = {
  description: string
  /** The arguments, as the help shows them. */
  usage?: string
  /** It would leave the turn that is being shown. */
  notDuringTurn?: true
  run(words: string, chat: ChatSession): Promise<CommandOutcome | undefined>
  /** The words that may be its argument. */
  complete?(chat: ChatSession): Promise<readonly string[]>
}
