import type { RunCensus } from '../ports/store.ts'
import type { Desk } from './desk.ts'

/** What is not over, of every organisation: for whoever watches the server, never for a caller's request. */
export const countRuns = ({ world }: Desk): Promise<RunCensus> => world.store.runs.census()

/** Turns that this very process runs. */
export const turnsHere = ({ engine }: Desk): number => engine?.dispatcher.running().length ?? 0
