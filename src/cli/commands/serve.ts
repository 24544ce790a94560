import { Problem } from '../../core/problem.ts'
import { listAgents } from '../../service/find-agent.ts'
import { listProviders } from '../../service/list-providers.ts'
import { type Context, type OpenedApp, type Served, withApp } from '../context.ts'
import { onSignals } from '../signals.ts'
import type { Screen } from '../terminal.ts'

export type ServeFlags = { host: string; port: string; accessLog?: boolean }

/** Serves a home until somebody ends it. */
export async function serve(flags: ServeFlags, context: Context): Promise<number> {
  const port = portOf(flags.port)
  return withApp(context, 'owner', async (app) => {
    const { environment, out, notes } = context
    const givenKey = environment.HOLDFAST_API_KEY?.trim()
    const server = await listening({
      ...{ desk: app.desk, home: app.settings.home, host: flags.host, port, version: context.version },
      ...(givenKey ? { givenKey } : {}),
      report: (fault, where) => app.desk.world.report(fault, where),
      ...(flags.accessLog ? { log: (line: string) => notes.line(line) } : {}),
    })
    const asked = firstSignal()
    await introduce(server, app, out)
    await asked
    // What is in hand is drained; whoever does not want to wait says so once more. Nothing is lost either way.
    onSignals({ interrupt: () => process.exit(130), terminate: () => process.exit(143) })
    notes.line('Stopping: turns are handed back and go on at the next start. Once more ends it at once.')
    await server.close()
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

const PORT_FAULTS: Record<string, string> = {
  EADDRINUSE: 'is taken',
  EACCES: 'may not be used',
  EADDRNOTAVAIL: 'is not an address of this machine',
}

function portOf(flag: string): number {
  const port = Number(flag)
  if (Number.isInteger(port) && port >= 0 && port <= 65535) return port
  throw new Problem('invalid', `--port is a number from 0 to 65535, not "${flag}".`)
}

const firstSignal = () =>
  new Promise<void>((resolve) => {
    const forget = onSignals({ interrupt: heard, terminate: heard })
    function heard() {
      forget()
      resolve()
    }
  })

async function introduce({ url, key }: Served, { desk, settings }: OpenedApp, out: Screen): Promise<void> {
  const { bold, dim } = out.look.paint
  const [agents, providers] = await Promise.all([listAgents(desk), listProviders(desk)])
  const ready = providers.filter(({ state }) => state === 'ready').map(({ name }) => name)
  const where = key.file ?? 'the environment (HOLDFAST_API_KEY)'
  const rows = [
    ['Home', settings.home],
    ['Agents', `${agents.length}`],
    ['Models', ['scripted (built in)', ...ready].join(', ')],
    ['Key', key.isNew ? `${key.key} ${dim(`(shown once; kept in ${where})`)}` : `in ${where}`],
  ] as const
  out.line(`${bold(`Holdfast serves at ${url}`)} ${dim('(Ctrl-C ends it)')}`)
  for (const [what, value] of rows) out.line(`  ${what.padEnd(8)}${value}`)
  out.line()
  out.line('Try it:')
  const shown = key.file ? `$(cat ${key.file})` : '$HOLDFAST_API_KEY'
  out.line(`  curl ${url}/v1/runs/ -H "Authorization: Bearer ${shown}"`)
  out.line()
}
