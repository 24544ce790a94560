import { Problem } from '../../core/problem.ts'
import { type Context, type Served, withApp } from '../context.ts'
import { INTERRUPTED } from '../exit-codes.ts'
import { removeServerNote, writeServerNote } from '../server/server-file.ts'
import { findServer } from '../server/server-line.ts'
import { tellServer } from '../server/tell-server.ts'
import { onSignals } from '../signals.ts'

type ServeFlags = { host: string; port: string; accessLog?: boolean }

/** Serves a home until somebody ends it. */
export async function serve(flags: ServeFlags, context: Context): Promise<number> {
  const port = portOf(flags.port)
  await requireFree(context)
  return withApp(context, 'owner', async (app) => {
    const { environment, out, notes } = context
    const { home } = app.settings
    const givenKey = environment.HOLDFAST_API_KEY?.trim()
    const server = await listening({
      ...{ desk: app.desk, home, host: flags.host, port, version: context.version },
      ...(givenKey ? { givenKey } : {}),
      report: (fault, where) => app.desk.world.report(fault, where),
      ...(flags.accessLog ? { log: (line: string) => notes.line(line) } : {}),
    })
    const url = reachable(server.url)
    writeServerNote(home, { url, pid: process.pid, started: new Date().toISOString() })
    const asked = nextSignal()
    for (const line of await tellServer({ ...server, url }, app, context)) out.line(line)
    await asked
    notes.line('Stopping: turns are handed back and go on at the next start. Once more hurries.')
    removeServerNote(home, process.pid)
    await drain(server, app.desk.engine)
    return 0
  })

  async function listening(options: Parameters<Context['serve']>[0]): Promise<Served> {
    try {
      return await context.serve(options)
    } catch (fault) {
      const reason = PORT_FAULTS[(fault as NodeJS.ErrnoException).code ?? '']
      if (reason === undefined) throw fault
      throw new Problem('unavailable', `${options.host}:${port} ${reason}; name another with --port or --host.`)
    }
  }
}

type Engine = { stop(options?: { toolGraceMs?: number }): Promise<void> }

/**
 * Nothing new is accepted, tools finish or are aborted, leases go back; only then do the streams end, so that whoever
 * reads has seen all there was. The second signal aborts the tools at once, the third ends the process as it is: nothing
 * that was accepted is lost either way.
 */
async function drain(server: Served, engine: Engine | undefined): Promise<void> {
  let signals = 0
  const hurry = () => {
    signals += 1
    if (signals > 1) process.exit(INTERRUPTED)
    engine?.stop({ toolGraceMs: 0 }).catch(() => process.exit(INTERRUPTED))
  }
  const forget = onSignals({ interrupt: hurry, terminate: hurry })
  server.drain()
  await engine?.stop()
  await server.close()
  forget()
}

const PORT_FAULTS: Record<string, string> = {
  EADDRINUSE: 'is taken',
  EACCES: 'may not be used',
  EADDRNOTAVAIL: 'is not an address of this machine',
}

function portOf(flag: string): number {
  const port = Number(flag)
  if (Number.isInteger(port) && port >= 0 && port <= 65535) return port
  throw new Problem('invalid', `--port, or PORT, is a number from 0 to 65535, not "${flag}".`)
}

/** On PostgreSQL a second server may share the home; on SQLite the lock refuses it. This says where the first one is. */
async function requireFree({ environment, homeOf }: Context): Promise<void> {
  const url = environment.DATABASE_URL ? undefined : await findServer(homeOf(environment))
  if (url) throw new Problem('home-owned', `This home is served already, at ${url}.`)
}

/** An address that stands for all of them is none to go to. */
const reachable = (url: string): string => url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')

const nextSignal = () =>
  new Promise<void>((resolve) => {
    const forget = onSignals({ interrupt: heard, terminate: heard })
    function heard() {
      forget()
      resolve()
    }
  })
