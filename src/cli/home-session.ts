import { setTimeout as sleep } from 'node:timers/promises'
import { StorageError } from '../ports/storage-error.ts'
import type { ServiceContext } from '../service/service-context.ts'
import { type CliContext, type OpenedApp, withApp } from './cli-context.ts'
import { findServer, newServerConnection } from './server/server-connection.ts'
import { serverVerbs } from './server/server-verbs.ts'
import { localVerbs, type Verbs } from './verbs.ts'

/** A home to work in: rows to read, and somebody who does what is asked. */
export type HomeSession = {
  context: ServiceContext
  settings: OpenedApp['settings']
  verbs: Verbs
  /** Where the server that owns the home listens, if one does. */
  server?: string
}

/** `turns`: somebody must run them, so this process does if no server is there. `rows`: they can wait. */
type SessionNeed = 'turns' | 'rows'

type HomeSessionDeps = Pick<CliContext, 'openApp' | 'environment' | 'homeOf' | 'notes'>

/** A server that has just begun to start owns the home before it listens. */
const STARTUP_TIMEOUT_MS = 1_500
const POLL_MS = 100

/** The home for the length of one piece of work: through its server while one owns it, otherwise in this process. */
export async function withHome<T>(
  cli: HomeSessionDeps,
  need: SessionNeed,
  work: (session: HomeSession) => Promise<T>,
): Promise<T> {
  const server = await findServer(cli.homeOf(cli.environment))
  if (server) return throughServer(server, cli, work)
  let isOpen = false
  try {
    return await withApp(cli, need === 'turns' ? 'owner' : 'guest', ({ context: serviceContext, settings }) => {
      isOpen = true
      return work({ context: serviceContext, settings, verbs: localVerbs(serviceContext) })
    })
  } catch (fault) {
    if (isOpen || !(fault instanceof StorageError) || fault.fault !== 'owned') throw fault
    const started = await waitForServer(cli)
    if (!started) throw fault
    return throughServer(started, cli, work)
  }
}

const throughServer = <T>(server: string, cli: HomeSessionDeps, work: (house: HomeSession) => Promise<T>): Promise<T> =>
  withApp(cli, 'guest', ({ context: serviceContext, settings }) => {
    const givenKey = cli.environment.HOLDFAST_API_KEY?.trim()
    const notify = (sentence: string) => cli.notes.line(`  ${sentence}`)
    const connection = newServerConnection({ home: settings.home, givenKey, notify })
    return work({ context: serviceContext, settings, server, verbs: serverVerbs(connection, serviceContext) })
  })

async function waitForServer({ environment, homeOf }: HomeSessionDeps): Promise<string | undefined> {
  for (const until = Date.now() + STARTUP_TIMEOUT_MS; Date.now() < until; await sleep(POLL_MS)) {
    const server = await findServer(homeOf(environment))
    if (server) return server
  }
  return undefined
}
