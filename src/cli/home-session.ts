import { setTimeout as sleep } from 'node:timers/promises'
import { StorageError } from '../ports/storage-error.ts'
import type { ServiceContext } from '../service/service-context.ts'
import { type CliContext, type OpenedApp, withApp } from './cli-context.ts'
import { type Api, newApi } from './server/api.ts'
import { findServer, newServerConnection } from './server/server-connection.ts'
import { serverVerbs } from './server/server-verbs.ts'
import { localVerbs, type Verbs } from './verbs.ts'

/** An open home: `context` reads the database, `verbs` change it in this process or through the server. */
export type HomeSession = {
  context: ServiceContext
  settings: OpenedApp['settings']
  verbs: Verbs
  /** The HTTP API of this home, carried out by its server or in this process. */
  api: Api
  /** URL of the server that owns the home, if one runs. */
  server?: string
}

/** Without a server: `turns` makes this process the owner, which runs turns; `rows` only a guest, which does not. */
type SessionNeed = 'turns' | 'rows'

type HomeSessionDeps = Pick<CliContext, 'openApp' | 'environment' | 'homeOf' | 'notes' | 'inProcess' | 'version'>

/** A starting server owns the home before it listens. */
const STARTUP_TIMEOUT_MS = 1_500
const POLL_MS = 100

/** Opens the home for `work`: through its server if one owns it, otherwise in this process. */
export async function withHome<T>(
  cli: HomeSessionDeps,
  need: SessionNeed,
  work: (session: HomeSession) => Promise<T>,
): Promise<T> {
  const server = await findServer(cli.homeOf(cli.environment))
  if (server) return throughServer(server, cli, work)
  let isOpen = false
  try {
    return await withApp(cli, need === 'turns' ? 'owner' : 'guest', ({ context, settings }) => {
      isOpen = true
      return locally({ context, settings }, cli, work)
    })
  } catch (fault) {
    if (isOpen || !(fault instanceof StorageError) || fault.fault !== 'owned') throw fault
    const started = await waitForServer(cli)
    if (!started) throw fault
    return throughServer(started, cli, work)
  }
}

const throughServer = <T>(
  server: string,
  cli: HomeSessionDeps,
  work: (session: HomeSession) => Promise<T>,
): Promise<T> =>
  withApp(cli, 'guest', ({ context, settings }) => {
    const givenKey = cli.environment.HOLDFAST_API_KEY?.trim()
    const notify = (sentence: string) => cli.notes.line(`  ${sentence}`)
    const connection = newServerConnection({ home: settings.home, givenKey, notify })
    return work({ context, settings, server, verbs: serverVerbs(connection, context), api: connection })
  })

/** The operations are loaded with the first request: most commands need none. */
async function locally<T>(
  { context, settings }: Pick<HomeSession, 'context' | 'settings'>,
  { inProcess, version, notes }: HomeSessionDeps,
  work: (session: HomeSession) => Promise<T>,
): Promise<T> {
  let opened: ReturnType<HomeSessionDeps['inProcess']> | undefined
  const api = newApi(
    async (path, init) => {
      opened ??= inProcess({ context, version })
      return (await opened).send(path, init)
    },
    (sentence) => notes.line(`  ${sentence}`),
  )
  try {
    return await work({ context, settings, verbs: localVerbs(context), api })
  } finally {
    await (await opened)?.close()
  }
}

async function waitForServer({ environment, homeOf }: HomeSessionDeps): Promise<string | undefined> {
  for (const until = Date.now() + STARTUP_TIMEOUT_MS; Date.now() < until; await sleep(POLL_MS)) {
    const server = await findServer(homeOf(environment))
    if (server) return server
  }
  return undefined
}
