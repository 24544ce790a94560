import type { CliContext } from '../../src/cli/cli-context.ts'
import { commandsBelow } from '../../src/cli/holdfast-command.ts'
import { programFor } from '../../src/cli/run-cli.ts'

/** Every command that does something, in a new tree. */
export const treeOf = () => commandsBelow(programFor({ cli: { environment: {} } as CliContext, ends: () => {} }))

/** What the examples name, without the quotes and redirections of a shell. */
export function wordsOf(example: string): string[] {
  const [command = ''] = example.split(/ (?:<|>>) /)
  return [...command.matchAll(/'([^']*)'|((?:[^\s"]|"[^"]*")+)/g)].map(([, quoted, plain]) =>
    quoted === undefined ? plain!.replaceAll('"', '') : quoted,
  )
}
