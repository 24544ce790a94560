/** A program that is started for its stdin and stdout, in a sandbox of its own. */
export type ProgramRequest = {
  /** Names its folder, which it keeps between starts. */
  id: string
  command: string
  args: readonly string[]
  environment: Readonly<Record<string, string>>
  /** Domains that it may reach; none if it is empty. */
  egress: readonly string[]
}

export type ProgramEvents = {
  /** One line of its stdout. */
  onLine(line: string): void
  /** Once, when it has ended; `why` is for people, with the end of its stderr. */
  onEnd(why: string): void
}

export type RunningProgram = {
  /** False: it has ended, or does not read what it was sent. */
  write(line: string): boolean
  /** Closes its stdin, and kills it with everything it started if that does not end it. */
  stop(why: string): Promise<void>
}

export type StdioPrograms = {
  /** Rejects with a WorkspaceError if it cannot be started here. */
  start(request: ProgramRequest, events: ProgramEvents): Promise<RunningProgram>
  /** Deletes its folder. Call when it has stopped. */
  remove(id: string): Promise<void>
  /** Stops the programs and waits for their end. */
  close(): Promise<void>
}
