import { Problem } from '../core/problem.ts'
import type { CliContext } from './cli-context.ts'
import { confirm } from './read-secret.ts'

type Removal = {
  /** The verb of the question: `Remove`. */
  verb: 'Remove' | 'Delete' | 'Reset' | 'Approve'
  /** The thing, with its id. */
  what: string
  /** What goes with it, as sentences. */
  consequence: string
}

/** Asks before something is lost. Without a terminal there is no one to ask, so `--yes` is required. */
export async function confirmRemoval(
  { verb, what, consequence }: Removal,
  { yes }: { yes?: boolean },
  { notes }: Pick<CliContext, 'notes'>,
): Promise<boolean> {
  if (yes) return true
  const { stdin, stderr } = process
  const doing = verb.toLowerCase()
  if (!stdin.isTTY)
    throw new Problem('invalid', `Confirmation needs a terminal. ${consequence} Add --yes to ${doing} ${what}.`)
  if (await confirm(`${verb} ${what}? ${consequence} [y/N] `, stdin, stderr)) return true
  notes.line(`Nothing was ${doing === 'reset' ? 'reset' : `${doing}d`}.`)
  return false
}
