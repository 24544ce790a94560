import type { Directory } from './directory.ts'
import type { Bot } from './read-event.ts'
import type { DiscordTransport } from './transport.ts'

export type ReceiveParts = {
  transport: DiscordTransport
  directory: Directory
  bot: Bot
  /** Channels of the configuration. */
  groups: readonly string[]
}
