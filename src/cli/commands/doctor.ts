import { checkStore } from '../../service/check-store.ts'
import { type Context, printJson, withApp } from '../context.ts'
import { count } from '../render-run.ts'
import { safeText } from '../terminal.ts'

/** Exit code 1 when something that must always hold does not. */
export const doctor = ({ json }: { json?: boolean }, context: Context): Promise<number> =>
  withApp(context, 'guest', async ({ desk }) => {
    const { out } = context
    const { bold, green, red, yellow } = out.look.paint
    const report = await checkStore(desk)
    const { violations, notices } = report
    const exit = violations.length > 0 ? 1 : 0
    if (json) {
      printJson(out, report)
      return exit
    }
    const { runs, conversations, messages } = report
    out.line(`Checked ${count(runs, 'run')}, ${count(conversations, 'conversation')}, ${count(messages, 'message')}.`)
    for (const { invariant, sentence, promise, where, detail } of violations) {
      out.line(`${red('✗')} ${bold(invariant)}: ${sentence} (${promise})`)
      out.line(`    ${where}: ${safeText(detail)}`)
    }
    for (const { where, detail } of notices) out.line(`${yellow('!')} ${where}: ${safeText(detail)}`)
    if (exit === 0) out.line(`${green('✓')} Everything that must hold does.`)
    else out.line(`${count(violations.length, 'violation')}: this is a bug in Holdfast, please report it.`)
    return exit
  })
