import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Problem } from '../../core/problem.ts'
import { exportLines } from '../../service/exports/export-organization.ts'
import { type CliContext, printJson } from '../cli-context.ts'
import { type HomeSession, withHome } from '../home-session.ts'
import { refuseExisting } from '../new-file.ts'
import { pickOne } from '../pick-one.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { commandLine } from '../program-name.ts'
import { secretFromPipe } from '../read-secret.ts'
import { type ImportView, printImport, progressLine } from '../render/import.ts'
import { printTable } from '../render/table.ts'
import { stoppable } from '../stoppable.ts'
import { CLEAR_LINE, safeText } from '../terminal.ts'
import { writeLines } from '../write-lines.ts'

type StartFlags = JsonFlag & { key?: string; agent?: string[]; rate?: string; dryRun?: boolean }

const POLL_MS = 500
/** Without a terminal that redraws, a line of progress this often. */
const LINE_MS = 10_000

/** Exit code 1 if something is missing: the same command goes on. */
export const start = (source: string, flags: StartFlags, cli: CliContext): Promise<number> =>
  stoppable((signal) =>
    withHome(cli, 'turns', async (session) => {
      const isUrl = /^https?:\/\//i.test(source)
      const key = flags.key === '-' ? await secretFromPipe(process.stdin) : flags.key
      const started = await session.api.request<ImportView>('POST', '/v1/import', {
        url: isUrl ? source : null,
        file: isUrl ? null : resolve(source),
        key: key || null,
        agents: flags.agent ?? null,
        rate: flags.rate === undefined ? null : rateOf(flags.rate),
        dry_run: flags.dryRun ?? false,
      })
      const ended = await watch(started, { session, signal, cli, isQuiet: flags.json === true })
      if (flags.json) printJson(cli.out, ended)
      else if (ended.state === 'running') printGoesOn(ended, session, cli)
      else printImport(ended, cli.out)
      return exitOf(ended)
    }),
  )

function rateOf(text: string): number {
  const rate = Number(text)
  if (text.trim() !== '' && rate > 0 && rate <= 10_000) return rate
  throw new Problem('invalid', `--rate must be a number above 0, at most 10000, not "${text}".`)
}

type Watch = { session: HomeSession; signal: AbortSignal; cli: CliContext; isQuiet: boolean }

/** Shows the progress until the import is over or a signal arrives. */
async function watch(started: ImportView, { session, signal, cli: { notes }, isQuiet }: Watch): Promise<ImportView> {
  let now = started
  let shown = ''
  let shownAt = 0
  const isDrawn = notes.look.canRedraw && !isQuiet
  while (now.state === 'running' && !signal.aborted) {
    const line = progressLine(now)
    if (isDrawn && line !== shown) notes.write(`${CLEAR_LINE}${line.slice(0, notes.look.width - 1)}`)
    else if (!isDrawn && !isQuiet && line !== shown && Date.now() - shownAt > LINE_MS) {
      notes.line(line)
      shownAt = Date.now()
    }
    shown = line
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined)
    now = await session.api.request<ImportView>('GET', `/v1/import/${now.id}`)
  }
  if (isDrawn) notes.write(CLEAR_LINE)
  return now
}

function printGoesOn({ source }: ImportView, { server }: HomeSession, { notes }: CliContext): void {
  notes.line(
    server
      ? `The import goes on in the server. \`${commandLine('import show')}\` shows it, \`${commandLine('import stop')}\` stops it.`
      : `Interrupted. \`${commandLine(`import ${source}`)}\` goes on where it was.`,
  )
}

const exitOf = ({ state, complete, dry_run, counts }: ImportView): number => {
  if (dry_run) return state === 'done' && counts.every(({ failed }) => failed === 0) ? 0 : 1
  return complete ? 0 : 1
}

export const listAll = (flags: JsonFlag, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ api }) => {
    const all = await api.request<ImportView[]>('GET', '/v1/import')
    if (flags.json) return printJson(cli.out, all)
    if (all.length === 0)
      return cli.out.line(`No imports yet. \`${commandLine('import http://old-server:8283')}\` starts one.`)
    printTable(
      all,
      [
        { title: 'IMPORT', text: ({ id }) => id, short: ({ id }) => id.slice(0, 15) },
        { title: 'SOURCE', text: ({ source }) => source, shrinksTo: 12 },
        { title: 'STATE', text: stateText, paint: ({ state }) => (state === 'failed' ? 'red' : undefined) },
        { title: 'OBJECTS', text: ({ progress }) => progress.done.toLocaleString('en'), align: 'right' },
        { title: 'STARTED', text: ({ started_at }) => started_at.slice(0, 16).replace('T', ' ') },
      ],
      cli.out,
    )
  })

const stateText = ({ state, complete }: ImportView): string => (state === 'done' && !complete ? 'incomplete' : state)

export const show = (which: string | undefined, flags: JsonFlag, cli: CliContext): Promise<number> =>
  withHome(cli, 'rows', async ({ api }) => {
    const { id } = await pickImport(which, api)
    const found = await api.request<ImportView>('GET', `/v1/import/${id}`)
    if (flags.json) printJson(cli.out, found)
    else printImport(found, cli.out)
    return found.state === 'running' ? 0 : exitOf(found)
  })

export const stop = (which: string | undefined, flags: JsonFlag, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ api }) => {
    const { id } = await pickImport(which, api)
    const stopped = await api.request<ImportView>('POST', `/v1/import/${id}/stop`, {})
    const goesOn = `\`${commandLine(`import ${stopped.source}`)}\` goes on with it.`
    printResult(cli, flags, {
      sentence:
        stopped.state === 'stopped'
          ? `Stopped the import from ${safeText(stopped.source)}. ${goesOn}`
          : `The import is over: ${stopped.state}.`,
      value: stopped,
    })
  })

async function pickImport(which: string | undefined, api: HomeSession['api']): Promise<ImportView> {
  const all = await api.request<ImportView[]>('GET', '/v1/import')
  const [newest] = all
  if (!newest)
    throw new Problem(
      'not-found',
      `There are no imports. \`${commandLine('import http://old-server:8283')}\` starts one.`,
    )
  if (which === undefined) return newest
  const named = all.map((one) => ({ ...one, name: one.source }))
  return pickOne(named, which, { prefix: 'import', noun: 'import', lister: 'import list' })
}

type ExportFlags = JsonFlag & { withSecrets?: boolean; force?: boolean }

/** Exit code 1 if a run was going on: its messages are in the next export. */
export const exportAll = (file: string, flags: ExportFlags, cli: CliContext): Promise<number> =>
  withHome(cli, 'rows', async ({ context }) => {
    const path = resolve(file)
    if (!flags.force) refuseExisting(path)
    const counts = await writeLines(
      path,
      exportLines({ withSecrets: flags.withSecrets === true, version: cli.version }, context),
    )
    const text = Object.entries(counts)
      .map(([kind, count]) => `${count.toLocaleString('en')} ${kind}${count === 1 ? '' : 's'}`)
      .join(', ')
    printResult(cli, flags, {
      sentence: `Exported ${text || 'an empty organization'} to ${path}.`,
      value: { file: path, counts },
    })
    const secrets = flags.withSecrets
      ? 'The file holds secrets in clear. Keep it private.'
      : 'Secrets are named in the file without their values. --with-secrets writes them too.'
    if (!flags.json) cli.out.line(secrets)
    return 0
  })
