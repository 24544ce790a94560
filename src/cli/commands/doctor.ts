import { isInsideWorkspace } from '../../core/home-files.ts'
import { auditChain } from '../../core/invariants/audit-chain.ts'
import { type ExposedEntry, findExposed } from '../../disk/exposed-entries.ts'
import type { LastBackup } from '../../ports/backups.ts'
import type { SandboxCheck } from '../../ports/workspaces.ts'
import { checkStore, type StoreReport } from '../../service/store/check-store.ts'
import { type Repair, repairStore } from '../../service/store/repair-store.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { commandLine } from '../program-name.ts'
import { lastBackupText } from '../render/last-backup.ts'
import { count } from '../render/run.ts'
import { limitsText } from '../render/workspace.ts'
import { type Paint, safeText } from '../terminal.ts'

type DoctorFlags = { json?: boolean; repair?: boolean }
type Findings = StoreReport & {
  repairs: Repair[]
  sandbox: SandboxCheck
  lastBackup: LastBackup | null
  /** Files of the home that other users of the machine may use. */
  exposed: ExposedEntry[]
}

/** Exit code 1 if an invariant is violated, after the repair if there was one. */
export const doctor = ({ json, repair }: DoctorFlags, cli: CliContext): Promise<number> =>
  withApp(cli, repair ? 'maintenance' : 'guest', async ({ context, settings }) => {
    const repairs = repair ? await repairStore(context) : []
    const sandbox = await context.workspaces.check()
    const lastBackup = (await context.backups.last()) ?? null
    const exposed = findExposed(settings.home, isInsideWorkspace)
    const findings: Findings = { ...(await checkStore(context)), repairs, sandbox, lastBackup, exposed }
    if (json) printJson(cli.out, findings)
    else printFindings(findings, { cli, hasRepaired: repair === true, now: context.deps.clock.now() })
    return findings.violations.length > 0 ? 1 : 0
  })

type PrintOptions = { cli: CliContext; hasRepaired: boolean; now: number }

function printFindings(findings: Findings, { cli, hasRepaired, now }: PrintOptions): void {
  const { runs, conversations, messages, violations, notices, repairs, sandbox } = findings
  const { out } = cli
  const { bold, green, red, yellow } = out.look.paint
  for (const { where, did } of repairs) out.line(`${green('✓')} repaired ${where}: ${safeText(did)}`)
  if (hasRepaired && repairs.length === 0) out.line('Nothing to repair.')
  out.line(`Checked ${count(runs, 'run')}, ${count(conversations, 'conversation')}, ${count(messages, 'message')}.`)
  for (const { invariant, sentence, promise, where, detail } of violations) {
    out.line(`${red('✗')} ${bold(invariant)}: ${sentence} (${promise})`)
    out.line(`    ${where}: ${safeText(detail)}`)
  }
  out.line(sandboxLine(sandbox, { green, yellow }))
  for (const line of exposureLines(findings.exposed, { green, yellow })) out.line(line)
  out.line(lastBackupText(findings.lastBackup ?? undefined, now))
  for (const { where, detail } of notices) out.line(`${yellow('!')} ${where}: ${safeText(detail)}`)
  if (violations.length === 0) {
    out.line(`${green('✓')} Every invariant holds.`)
    return
  }
  const isForeign = violations.every(({ invariant }) => invariant === auditChain.id)
  const cause = isForeign
    ? 'something other than Holdfast changed the audit log, or it was restored in part.'
    : 'this is a bug in Holdfast, please report it.'
  out.line(`${count(violations.length, 'violation')}: ${cause}`)
  if (hasRepaired) out.line('The rest cannot be repaired without guessing and was not changed.')
  else
    out.line(
      `Stop the server and run \`${commandLine('doctor --repair')}\` to repair what can be repaired without guessing.`,
    )
}

/** A missing sandbox is not a violation: the workspace tools refuse to run and give the same reason. */
function sandboxLine(
  { containment, fault, kernel = [] }: SandboxCheck,
  { green, yellow }: Pick<Paint, 'green' | 'yellow'>,
): string {
  if (fault !== undefined) return `${yellow('!')} Workspaces are not available: ${safeText(fault)}`
  if (containment === 'local') return `${yellow('!')} Workspaces have no sandbox (local): every command needs approval.`
  return `${green('✓')} Workspaces have a sandbox: ${containment} works. ${limitsText(kernel)}`
}

const SHOWN_ENTRIES = 10

function exposureLines(exposed: ExposedEntry[], { green, yellow }: Pick<Paint, 'green' | 'yellow'>): string[] {
  if (exposed.length === 0) return [`${green('✓')} Only this user can read the home.`]
  const lines = exposed
    .slice(0, SHOWN_ENTRIES)
    .map(({ path, why }) => `${yellow('!')} Not only for this user: ${safeText(path)} ${why}.`)
  const rest = exposed.length - lines.length
  return rest > 0 ? [...lines, `${yellow('!')} ${count(rest, 'more file')} like these.`] : lines
}
