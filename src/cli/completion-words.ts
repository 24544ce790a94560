import type { HoldfastCommand } from './holdfast-command.ts'

type Position = { command: HoldfastCommand; before: readonly string[] }

/** The command that the words before the last one name, and what was written after its name. */
function positionOf(program: HoldfastCommand, words: readonly string[]): Position {
  let command = program
  const before = words.slice(0, -1)
  for (const [index, word] of before.entries()) {
    const next = (command.commands as HoldfastCommand[]).find((one) => one.name() === word)
    if (!next) return { command, before: before.slice(index) }
    command = next
  }
  return { command, before: [] }
}

/** Subcommands and options that can follow; the last word is the one being typed. */
export function candidatesFor(program: HoldfastCommand, words: readonly string[]): string[] {
  const { command, before } = positionOf(program, words)
  const typed = words.at(-1) ?? ''
  if (typed.startsWith('-')) return [...command.options.flatMap(({ long }) => (long ? [long] : [])), '--help'].sort()
  if (before.length > 0) return []
  const below = command.commands.map((one) => one.name()).filter((name) => !name.startsWith('__'))
  const [first] = command.registeredArguments
  const choices = first?.name() === 'shell' ? ['bash', 'zsh', 'fish'] : []
  return [...below, ...choices].sort()
}

/** Whether the word being typed names an agent: after `--agent`, or as the first argument of a command that takes one. */
export function wantsAgent(program: HoldfastCommand, words: readonly string[]): boolean {
  const { command, before } = positionOf(program, words)
  if (before.at(-1) === '--agent' || words.at(-2) === '--agent') return true
  const first = command.registeredArguments[0]?.name()
  return before.length === 0 && ['agent', 'conversation', 'workspace'].includes(first ?? '')
}
