export type SimulateChatOptions = {
  /** 0 picks a free port. */
  port: number
  /** A message of a bot, as it is now: placeholders and progress are edited. */
  onMessage(message: { id: string; text: string; buttons: readonly string[] }): void
}

/** A simulated chat platform with one person, who writes to the bots that connect. */
export type SimulatedChat = {
  /** The page for a browser. */
  page: string
  /** The environment of a server that connects to it. */
  variables: Readonly<Record<string, string>>
  say(text: string): void
  close(): Promise<void>
}
