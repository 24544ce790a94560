import { Problem } from '../../core/problem.ts'
import { listAgents } from '../../service/agents/agents.ts'
import { type CliContext, withApp } from '../cli-context.ts'
import { COMPLETION_SCRIPTS, type Shell } from '../completion-scripts.ts'
import { candidatesFor, wantsAgent } from '../completion-words.ts'
import type { HoldfastCommand } from '../holdfast-command.ts'
import { type JsonFlag, printResult } from '../print-result.ts'

type CompletionDeps = { program: HoldfastCommand; cli: CliContext }

export function completion(shell: string, { flags, cli }: CompletionDeps & { flags: JsonFlag }): void {
  const script = COMPLETION_SCRIPTS[shell as Shell]
  if (script === undefined)
    throw new Problem(
      'invalid',
      `There is no completion for "${shell}". Use ${Object.keys(COMPLETION_SCRIPTS).join(', ')}.`,
    )
  printResult(cli, flags, { sentence: script.trimEnd(), value: { shell, script } })
}

/** Prints what can follow the words of a command line; the last word is the one being typed. */
export async function complete(words: readonly string[], { program, cli }: CompletionDeps): Promise<void> {
  const typed = words.at(-1) ?? ''
  const names = wantsAgent(program, words) ? await agentNames(cli) : []
  const found = [...candidatesFor(program, words), ...names].filter((word) => word.startsWith(typed))
  for (const word of found) cli.out.line(word)
}

/** A completion never prints an error into the line that is being typed. */
async function agentNames(cli: CliContext): Promise<string[]> {
  try {
    const agents = await withApp(cli, 'guest', ({ context }) => listAgents(context))
    return agents.map(({ name }) => name).filter((name) => /^[\p{L}\p{N}._-]+$/u.test(name))
  } catch {
    return []
  }
}
