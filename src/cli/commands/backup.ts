import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Problem } from '../../core/problem.ts'
import type { BackupNotice, BackupReport, RestoreReport, StoredCounts } from '../../ports/backups.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { commandLine } from '../program-name.ts'
import { count } from '../render/run.ts'
import { safeText } from '../terminal.ts'

type BackupFlags = { force?: boolean; withSecretKey?: boolean; withoutWorkspaces?: boolean; json?: boolean }

/** Exit code 1 if the backup was written and an invariant does not hold in it. */
export function backup(file: string, flags: BackupFlags, cli: CliContext): Promise<number> {
  requireStoredHome(cli)
  return withApp(cli, 'guest', async ({ context }) => {
    const report = await context.backups.write({
      file,
      version: cli.version,
      replace: flags.force === true,
      withSecretKey: flags.withSecretKey === true,
      withWorkspaces: flags.withoutWorkspaces !== true,
    })
    if (flags.json) printJson(cli.out, report)
    else printBackup(report, cli)
    printNotices(report.notices, cli)
    return printViolations(report.manifest.violations, cli)
  })
}

/** Exit code 1 if the home was restored and an invariant does not hold in it. */
export async function restore(file: string, { json }: { json?: boolean }, cli: CliContext): Promise<number> {
  const report = await cli.restore(file, cli.environment)
  if (json) printJson(cli.out, report)
  else printRestore(report, cli)
  printNotices(report.notices, cli)
  return printViolations(report.violations, cli)
}

/** Opening a home that has no database would create one. */
function requireStoredHome({ environment, homeOf }: CliContext): void {
  const home = homeOf(environment)
  if (existsSync(environment.DATABASE_URL ? home : join(home, 'holdfast.db'))) return
  throw new Problem('not-found', `There is nothing to back up: the home ${home} has no database. Set HOLDFAST_HOME.`)
}

function printBackup({ file, bytes, files, manifest }: BackupReport, { out, notes }: CliContext): void {
  const { green, yellow, bold } = out.look.paint
  const { counts, database, secret_key, workspaces } = manifest
  out.line(
    `${green('✓')} ${file} (${sizeText(bytes)}, ${count(files, 'file')}), checked by doctor: ${countsText(counts)}.`,
  )
  if (database === 'postgres')
    out.line(`${yellow('!')} The database is not in it. Dump PostgreSQL before each backup (docs/operations.md).`)
  if (!workspaces) out.line(`${yellow('!')} Workspaces are not in it.`)
  out.line('The file holds the API key of this server. Keep it private.')
  if (secret_key)
    notes.line(
      bold(yellow('WARNING: the file holds secret.key. Anyone who reads it can decrypt every stored credential.')),
    )
  else out.line('secret.key is not in it. Keep a copy of that file elsewhere: without it, stored credentials are lost.')
}

const LISTED = 20

function printRestore({ home, manifest, files, counts, unreadable }: RestoreReport, { out, notes }: CliContext): void {
  const { green, yellow } = out.look.paint
  const made = `the backup of ${manifest.created_at} (Holdfast ${manifest.version})`
  out.line(`${green('✓')} ${home} has ${made}: ${count(files, 'file')}, ${countsText(counts)}.`)
  if (unreadable.length > 0) {
    const names = unreadable.slice(0, LISTED).map(safeText).join(', ')
    const more = unreadable.length > LISTED ? ` and ${unreadable.length - LISTED} more` : ''
    notes.line(
      `${yellow('!')} Without its secret.key, these secrets cannot be used: ${names}${more}. Put the old secret.key into ` +
        `${home} (mode 600) before the server starts, or add them again.`,
    )
  }
  out.line('Do not start it while the old home is in use: both would run the same agents.')
}

function printNotices(notices: BackupNotice[], { notes }: CliContext): void {
  for (const { path, detail } of notices.slice(0, LISTED))
    notes.line(`${notes.look.paint.yellow('!')} ${safeText(path)}: ${safeText(detail)}`)
  if (notices.length > LISTED) notes.line(`… and ${notices.length - LISTED} more (--json lists all of them).`)
}

function printViolations(violations: string[], { notes }: CliContext): number {
  const { red } = notes.look.paint
  for (const violation of violations.slice(0, LISTED)) notes.line(`${red('✗')} ${safeText(violation)}`)
  if (violations.length === 0) return 0
  notes.line(`${count(violations.length, 'violation')} in the database. Run \`${commandLine('doctor')}\` on the home.`)
  return 1
}

const countsText = ({ runs, conversations, messages }: StoredCounts): string =>
  [count(runs, 'run'), count(conversations, 'conversation'), count(messages, 'message')].join(', ')

const sizeText = (bytes: number): string =>
  bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} KB` : `${(bytes / 1e6).toFixed(1)} MB`
