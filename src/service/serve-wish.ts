import type { Desk } from './desk.ts'

/** What whoever serves a home is told: the command knows it, the server carries it out. */
export type ServeWish = {
  desk: Desk
  home: string
  host: string
  port: number
  version: string
  /** The key of the environment; without it the home's own. */
  givenKey?: string
  report(fault: unknown, where: string): void
  log?(line: string): void
}
