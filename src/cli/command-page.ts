import type { CliContext } from './cli-context.ts'
import { commandsBelow, type HoldfastCommand } from './holdfast-command.ts'
import { programFor } from './run-cli.ts'

/** The tables and examples of `docs/commands.md`, from the tree of commands. */
export function commandPage(): string {
  // The actions are never called: the tree is only read.
  const program = programFor({ cli: { environment: {} } as CliContext, ends: () => {} })
  return program.commands
    .filter((one) => one.name() !== 'help' && !one.name().startsWith('__'))
    .flatMap((group) => sectionOf(group as HoldfastCommand))
    .join('\n')
}

function sectionOf(group: HoldfastCommand): string[] {
  const below = commandsBelow(group, [group.name()])
  const own = below.length > 0 ? below : [{ name: group.name(), command: group }]
  const intro = below.length > 0 ? [group.description(), ''] : []
  return [
    `## holdfast ${group.name()}`,
    '',
    ...intro,
    ...own.flatMap(({ name, command }) => commandLines(name, command)),
  ]
}

function commandLines(name: string, command: HoldfastCommand): string[] {
  const usage = command.registeredArguments.map((one) => {
    const text = `${one.name()}${one.variadic ? '...' : ''}`
    return one.required ? `<${text}>` : `[${text}]`
  })
  return [
    `**\`holdfast ${[name, ...usage].join(' ')}\`**: ${command.description()}`,
    '',
    ...command.registeredArguments.map((one) => `- \`${one.name()}\`: ${one.description}`),
    ...command.options.map(({ flags, description }) => `- \`${flags}\`: ${description}`),
    '',
    '```sh',
    ...command.examples.map((line) => `holdfast ${line}`),
    '```',
    '',
  ]
}
