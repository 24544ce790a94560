import type { Desk } from '../service/desk.ts'
import { secretsIn } from './access-log.ts'
import { type ApiKey, apiKeyFor } from './api-key.ts'
import { keepPruning } from './prune-streams.ts'
import { type RunningServer, startServer } from './server.ts'

export type ServeHome = {
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

/** The server of a home, with the key of that home. */
export async function serveHome({ home, givenKey, ...options }: ServeHome): Promise<RunningServer & { key: ApiKey }> {
  const key = apiKeyFor(home, givenKey)
  const server = await startServer({ ...options, apiKey: key.key, secrets: secretsIn(process.env) })
  const pruning = keepPruning(options)
  return {
    ...server,
    key,
    async close() {
      await pruning.stop()
      await server.close()
    },
  }
}
