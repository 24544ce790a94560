import type { HoldfastCommand } from './holdfast-command.ts'
import { commandLine } from './program-name.ts'

/** Before the command line is parsed: errors in it are JSON too. */
export const wantsJson = (argv: readonly string[]): boolean => {
  const end = argv.indexOf('--')
  return (end < 0 ? argv : argv.slice(0, end)).includes('--json')
}

/** A mistyped subcommand counts as an argument of the default one, and commander then names the wrong command. */
export function usageText(text: string, program: HoldfastCommand, argv: readonly string[]): string {
  const plain = text.replace(/^error: /, '')
  if (!plain.startsWith('too many arguments')) return plain
  const group = program.commands.find((one) => one.name() === argv[0])
  const names = group?.commands.map((one) => one.name()) ?? []
  const typed = argv[1] ?? ''
  if (names.length === 0 || names.includes(typed) || typed.startsWith('-')) return plain
  return `There is no command "${group!.name()} ${typed.slice(0, 80)}". Commands: ${names.join(', ')}. \`${commandLine(`${group!.name()} --help`)}\` describes them.\n`
}
