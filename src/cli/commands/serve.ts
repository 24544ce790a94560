import { defined } from '../../core/defined.ts'
import { Problem } from '../../core/problem.ts'
import { removeServerNote, writeServerNote } from '../../disk/server-file.ts'
import { type CliContext, type ServerHandle, withApp } from '../cli-context.ts'
import { INTERRUPTED } from '../exit-codes.ts'
import { bannerLines } from '../server/banner.ts'
import { findServer } from '../server/server-connection.ts'
import { onSignals } from '../signals.ts'

type ServeFlags = { json?: boolean; host: string; port: string; accessLog?: boolean }

/** Serves a home until a signal ends the process. */
export async function serve(flags: ServeFlags, cli: CliContext): Promise<number> {
  const port = parsePort(flags.port)
  await requireUnserved(cli)
  const watched: Pick<CliContext, 'openApp' | 'environment'> = {
    environment: cli.environment,
    openApp: ({ environment, role }) => cli.openApp({ environment, role, isWatched: true, hasGateway: true }),
  }
  return withApp(watched, 'owner', async (app) => {
    const { environment, out, notes } = cli
    const { home } = app.settings
    const environmentKey = environment.HOLDFAST_API_KEY?.trim()
    const server = await listen({
      context: app.context,
      home,
      host: flags.host,
      port,
      version: cli.version,
      ...defined({ environmentKey: environmentKey || undefined }),
      report: (fault, where) => app.context.deps.report(fault, where),
      ...defined({ log: flags.accessLog ? (line: string) => notes.line(line) : undefined }),
    })
    const url = reachableUrl(server.url)
    writeServerNote(home, { url, pid: process.pid, started: new Date().toISOString() })
    const stopRequested = nextSignal()
    const freeze = app.lastFreeze()
    if (freeze) notes.line(freeze)
    // One line, for the program that started it; the key itself stays in its file.
    if (flags.json) out.line(JSON.stringify({ url, pid: process.pid, home, key_file: server.key.file ?? null }))
    else for (const line of await bannerLines({ ...server, url }, app, cli)) out.line(line)
    await stopRequested
    notes.line(
      'Shutting down gracefully: unfinished turns continue at the next start. Ctrl-C again aborts running tools.',
    )
    removeServerNote(home, process.pid)
    await drain(server, app.context.engine)
    return 0
  })

  async function listen(options: Parameters<CliContext['serve']>[0]): Promise<ServerHandle> {
    try {
      return await cli.serve(options)
    } catch (fault) {
      const reason = PORT_FAULTS[(fault as NodeJS.ErrnoException).code ?? '']
      if (reason === undefined) throw fault
      throw new Problem('unavailable', `${options.host}:${port} ${reason}. Choose another with --port or --host.`)
    }
  }
}

type StoppableEngine = { stop(options?: { toolGraceMs?: number }): Promise<void> }

/**
 * Graceful shutdown: refuse new requests, let tools finish or abort them, give leases back. Streams end last, so that
 * subscribers get every chunk. The second signal aborts the tools at once, the third exits immediately; accepted messages
 * survive both.
 */
async function drain(server: ServerHandle, engine: StoppableEngine | undefined): Promise<void> {
  let signals = 0
  const onSignal = () => {
    signals += 1
    if (signals > 1) process.exit(INTERRUPTED)
    engine?.stop({ toolGraceMs: 0 }).catch(() => process.exit(INTERRUPTED))
  }
  const removeListeners = onSignals({ interrupt: onSignal, terminate: onSignal })
  server.drain()
  await engine?.stop()
  await server.close()
  removeListeners()
}

const PORT_FAULTS: Record<string, string> = {
  EADDRINUSE: 'is already in use',
  EACCES: 'is not permitted for this user',
  EADDRNOTAVAIL: 'is not an address of this machine',
}

function parsePort(flag: string): number {
  const port = Number(flag)
  if (Number.isInteger(port) && port >= 0 && port <= 65535) return port
  throw new Problem('invalid', `--port (or PORT) must be a number from 0 to 65535, not "${flag}".`)
}

/** On SQLite only one server can own a home; the error names the address of that server. PostgreSQL allows several. */
async function requireUnserved({ environment, homeOf }: CliContext): Promise<void> {
  const url = environment.DATABASE_URL ? undefined : await findServer(homeOf(environment))
  if (url) throw new Problem('home-owned', `A server for this home already runs at ${url}. Use it, or stop it first.`)
}

/** Replaces a wildcard address, which clients cannot connect to, with loopback. */
const reachableUrl = (url: string): string => url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')

const nextSignal = () =>
  new Promise<void>((resolve) => {
    const removeListeners = onSignals({ interrupt: onSignal, terminate: onSignal })
    function onSignal() {
      removeListeners()
      resolve()
    }
  })
