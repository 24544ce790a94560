import type { SandboxCheck } from '../../ports/workspaces.ts'
import { checkStore, type StoreReport } from '../../service/store/check-store.ts'
import { type Repair, repairStore } from '../../service/store/repair-store.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { count } from '../render/run.ts'
import { type Paint, safeText } from '../terminal.ts'

type DoctorFlags = { json?: boolean; repair?: boolean }
type Findings = StoreReport & { repairs: Repair[]; sandbox: SandboxCheck }

/** Exit code 1 when something that must always hold does not, after the repair if there was one. */
export const doctor = ({ json, repair }: DoctorFlags, cli: CliContext): Promise<number> =>
  withApp(cli, repair ? 'maintenance' : 'guest', async ({ context: serviceContext }) => {
    const repairs = repair ? await repairStore(serviceContext) : []
    const sandbox = await serviceContext.workspaces.check()
    const findings: Findings = { ...(await checkStore(serviceContext)), repairs, sandbox }
    if (json) printJson(cli.out, findings)
    else printFindings(findings, { context: cli, hasRepaired: repair === true })
    return findings.violations.length > 0 ? 1 : 0
  })

function printFindings(
  findings: Findings,
  { context: cli, hasRepaired }: { context: CliContext; hasRepaired: boolean },
): void {
  const { runs, conversations, messages, violations, notices, repairs, sandbox } = findings
  const { out } = cli
  const { bold, green, red, yellow } = out.look.paint
  for (const { where, did } of repairs) out.line(`${green('✓')} mended ${where}: ${safeText(did)}`)
  if (hasRepaired && repairs.length === 0) out.line('There was nothing to mend.')
  out.line(`Checked ${count(runs, 'run')}, ${count(conversations, 'conversation')}, ${count(messages, 'message')}.`)
  for (const { invariant, sentence, promise, where, detail } of violations) {
    out.line(`${red('✗')} ${bold(invariant)}: ${sentence} (${promise})`)
    out.line(`    ${where}: ${safeText(detail)}`)
  }
  out.line(sandboxLine(sandbox, { green, yellow }))
  for (const { where, detail } of notices) out.line(`${yellow('!')} ${where}: ${safeText(detail)}`)
  if (violations.length === 0) {
    out.line(`${green('✓')} Everything that must hold does.`)
    return
  }
  out.line(`${count(violations.length, 'violation')}: this is a bug in Holdfast, please report it.`)
  if (hasRepaired) out.line('What is left cannot be mended without a guess, and was not touched.')
  else out.line('With the server stopped, `holdfast doctor --repair` mends what can be mended without a doubt.')
}

/** What agents lack here is no broken promise: their tools refuse, and say the same. */
function sandboxLine({ containment, fault }: SandboxCheck, { green, yellow }: Pick<Paint, 'green' | 'yellow'>): string {
  if (fault !== undefined) return `${yellow('!')} Workspaces cannot be had here: ${safeText(fault)}`
  if (containment === 'local')
    return `${yellow('!')} Workspaces have no sandbox (local); each command waits for approval.`
  return `${green('✓')} Workspaces have a sandbox: ${containment} works.`
}
