import { join } from 'node:path'
import type { ServeOptions } from '../service/serve-options.ts'
import { secretsInEnvironment } from './access-log.ts'
import { type ApiKey, apiKeyFor } from './api-key.ts'
import { type RunningServer, startServer } from './server.ts'

/** Starts the server of a home with the key of that home. */
export async function serveHome({
  home,
  environmentKey,
  ...options
}: ServeOptions): Promise<RunningServer & { key: ApiKey }> {
  const key = apiKeyFor(home, environmentKey)
  const uploads = join(home, 'uploads')
  const server = await startServer({ ...options, uploads, apiKey: key.key, secrets: secretsInEnvironment(process.env) })
  return { ...server, key }
}
