import type { ServeWish } from '../service/serve-wish.ts'
import { secretsIn } from './access-log.ts'
import { type ApiKey, apiKeyFor } from './api-key.ts'
import { type RunningServer, startServer } from './server.ts'

/** The server of a home, with the key of that home. */
export async function serveHome({ home, givenKey, ...options }: ServeWish): Promise<RunningServer & { key: ApiKey }> {
  const key = apiKeyFor(home, givenKey)
  const server = await startServer({ ...options, apiKey: key.key, secrets: secretsIn(process.env) })
  return { ...server, key }
}
