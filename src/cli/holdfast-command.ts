import { Command } from 'commander'
import { JSON_OPTION } from './json-option.ts'
import { commandLine } from './program-name.ts'

/** A command with examples; help, the documentation and the tests show the same ones. */
export class HoldfastCommand extends Command {
  /** Without the name of the program: `runs show RUN`. */
  readonly examples: string[] = []
  /** What `--json` prints; every command that does something has it. */
  jsonDescription = 'Print JSON.'

  override createCommand(name?: string): HoldfastCommand {
    return new HoldfastCommand(name)
  }

  example(...lines: string[]): this {
    this.examples.push(...lines)
    return this
  }

  /** Replaces what `--json` is said to print. */
  json(description: string): this {
    this.jsonDescription = description
    return this
  }
}

/** The commands that do something, with their full names: `agents create`. */
export function commandsBelow(
  parent: HoldfastCommand,
  path: string[] = [],
): { name: string; command: HoldfastCommand }[] {
  const own = parent.commands.filter(
    (one) => one.name() !== 'help' && !one.name().startsWith('__'),
  ) as HoldfastCommand[]
  return own.flatMap((command) => {
    const names = [...path, command.name()]
    const below = commandsBelow(command, names)
    return below.length > 0 ? below : [{ name: names.join(' '), command }]
  })
}

/** The command and all below it. */
export const everyCommand = (command: HoldfastCommand): HoldfastCommand[] => [
  command,
  ...(command.commands as HoldfastCommand[]).flatMap(everyCommand),
]

/** Gives every command `--json` and prints its examples below its help. */
export function completeTree(program: HoldfastCommand): HoldfastCommand {
  for (const { command } of commandsBelow(program)) {
    if (!command.options.some(({ long }) => long === '--json')) command.option(JSON_OPTION[0], command.jsonDescription)
    command.addHelpText('after', () => examplesText(command))
  }
  return program
}

function examplesText({ examples }: HoldfastCommand): string {
  if (examples.length === 0) return ''
  return `\nExamples:\n${examples.map((line) => `  ${commandLine(line)}`).join('\n')}`
}
