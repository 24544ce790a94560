import { newWorkBudget, OverBudget, type WorkBudget } from '../../core/work-budget.ts'
import { nameOf, unwrap } from './command-prefixes.ts'
import { DESTRUCTION, isDevice, newProgramCall } from './destruction-table.ts'
import { type Command, isEvaluated, parseScript, type Redirection } from './shell-commands.ts'
import { UNKNOWN, type Word } from './shell-words.ts'

/**
 * Why a command line needs approval: it is destructive, or it cannot be read. Undefined if neither is the case. It
 * reads the command line only, not files: the sandbox contains scripts and programs; this check catches accidents that
 * are written out.
 */
export function findDestruction(commandLine: string): string | undefined {
  try {
    return checkScript(commandLine, { depth: 0, budget: newWorkBudget(MAX_STEPS), beside: [] })
  } catch (error) {
    if (error instanceof OverBudget) return TOO_COMPLICATED
    throw error
  }
}

/** `bash -c 'bash -c …'`, `find -exec find -exec …` */
const MAX_NESTING = 8
/** A command line of 100 KB takes 400,000 steps, some 0.05 s. */
const MAX_STEPS = 10_000_000
const STEPS_PER_CHARACTER = 4
const STEPS_PER_WORD = 20

const UNREADABLE = 'the command line cannot be parsed'
const CANNOT_BE_READ = 'it runs something that is known only at run time'
const TOO_COMPLICATED = 'it is too complicated to be judged'

type Reading = { depth: number; budget: WorkBudget; beside: readonly Command[] }

const deeper = ({ depth, budget, beside }: Reading): Reading => ({ depth: depth + 1, budget, beside })

function checkScript(text: string, { depth, budget }: Reading): string | undefined {
  if (depth > MAX_NESTING) return TOO_COMPLICATED
  budget.spend(text.length * STEPS_PER_CHARACTER)
  const script = parseScript(text)
  if (script.type === 'unreadable') return UNREADABLE
  if (script.functions.some(({ startsItself }) => startsItself))
    return 'it defines a function that starts itself endlessly (a fork bomb)'
  const reading = { depth, budget, beside: script.commands }
  return firstDefined(script.commands, (command) => {
    // A program that is fed may be judged by all that the script writes.
    if (command.isFed) budget.spend(text.length)
    return checkCommand(command, reading)
  })
}

function checkCommand(outer: Command, reading: Reading): string | undefined {
  const { depth, budget, beside } = reading
  if (depth > MAX_NESTING) return TOO_COMPLICATED
  budget.spend((1 + outer.words.length) * STEPS_PER_WORD)
  const overDevice = firstDefined(outer.redirections, writesOverDevice)
  if (overDevice) return overDevice
  const unwrapped = unwrap(outer, budget)
  if (unwrapped.type === 'unknown') return CANNOT_BE_READ
  if (unwrapped.type === 'script') return checkScript(unwrapped.text, deeper(reading))
  const { command } = unwrapped
  const name = nameOf(command.words[0])
  if (name === undefined) return undefined
  const hidden = SCRIPT_RUNNERS.find(({ names }) => names.includes(name))?.read(command, budget)
  if (hidden?.type === 'unknown') return CANNOT_BE_READ
  const inside = firstDefined(hidden?.scripts ?? [], (text) => checkScript(text, deeper(reading)))
  if (inside) return inside
  const inCommands = firstDefined(hidden?.commands ?? [], (one) => checkCommand(one, deeper(reading)))
  if (inCommands) return inCommands
  if (EVALUATES.has(name) && command.words.some(isEvaluated)) return CANNOT_BE_READ
  const call = newProgramCall(name, command, beside)
  return DESTRUCTION.find(({ names, when }) => isNamed(name, names) && (!when || when(call)))?.why
}

/** Builtins that take numbers or names of variables. */
const EVALUATES = new Set(
  'declare typeset local export readonly let test [ printf read unset mapfile readarray wait getopts'.split(' '),
)

/** A name that ends in a dot matches every name that begins with it. */
const isNamed = (name: string, names: readonly string[]): boolean =>
  names.some((one) => one === name || (one.endsWith('.') && name.startsWith(one)))

const WRITES = ['>', '>>', '>|', '&>', '&>>', '<>', '>&']

const writesOverDevice = ({ operator, target }: Redirection): string | undefined =>
  WRITES.includes(operator) && isDevice(target.text) ? 'it overwrites a device' : undefined

/** What a command runs in turn; `unknown` if that cannot be read. */
type NestedScripts = { type: 'known'; scripts?: string[]; commands?: Command[] } | { type: 'unknown' }

const NO_SCRIPTS: NestedScripts = { type: 'known' }
const UNKNOWN_SCRIPTS: NestedScripts = { type: 'unknown' }

const SHELLS = ['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash', 'fish', 'rbash']

const SCRIPT_RUNNERS: { names: readonly string[]; read(command: Command, budget: WorkBudget): NestedScripts }[] = [
  { names: SHELLS, read: scriptsOfShell },
  { names: ['eval'], read: ({ words }) => joinScript(operandsOf(words)) },
  { names: ['trap'], read: ({ words }) => joinScript(operandsOf(words).slice(0, 1)) },
  { names: ['source', '.'], read: (command) => scriptsOfSource(command) },
  {
    names: ['su', 'runuser', 'script'],
    read: ({ words }) => afterOption(words, /^(-[A-Za-z]*c|--com[a-z]*)$/, /^--com[a-z]*=|^-[A-Za-z]*c./),
  },
  {
    names: ['find'],
    read: ({ words }, budget) => scriptsOfExec(words, { options: ['-exec', '-execdir', '-ok', '-okdir'], budget }),
  },
  {
    names: ['fd', 'fdfind'],
    read: ({ words }, budget) => scriptsOfExec(words, { options: ['-x', '-X', '--exec', '--exec-batch'], budget }),
  },
  { names: ['coproc'], read: () => UNKNOWN_SCRIPTS },
]

/** The words after the name, and after `--`. */
const operandsOf = (words: readonly Word[]): readonly Word[] => words.slice(words[1]?.text === '--' ? 2 : 1)

function joinScript(words: readonly Word[]): NestedScripts {
  if (!words.every(({ isLiteral }) => isLiteral)) return UNKNOWN_SCRIPTS
  return { type: 'known', scripts: [words.map(({ text }) => text).join(' ')] }
}

/** The script after an option such as `-qc`. A script in the same word as its option is not looked for. */
function afterOption(words: readonly Word[], option: RegExp, joined: RegExp): NestedScripts {
  const at = words.findIndex(({ text }) => option.test(text))
  if (at >= 0) return joinScript(words.slice(at + 1, at + 2))
  return words.slice(1).some(({ text, isOpen }) => isOpen || joined.test(text)) ? UNKNOWN_SCRIPTS : NO_SCRIPTS
}

/** A shell runs a text, a file, or its input; a file is not checked. */
function scriptsOfShell(command: Command): NestedScripts {
  const { words, redirections, isFed } = command
  let takesText = false
  for (let index = 1; index < words.length; index++) {
    const word = words[index]!
    if (word.isProcess || word.isOpen) return word.isProcess || takesText ? UNKNOWN_SCRIPTS : NO_SCRIPTS
    if (/^--(rcfile|init-file)/.test(word.text) && words[index + 1]?.isProcess) return UNKNOWN_SCRIPTS
    if (/^[-+][oO]$/.test(word.text) || /^--(rcfile|init-file)$/.test(word.text)) index += 1
    else if (/^-[a-z]+$/i.test(word.text) && /c/i.test(word.text)) takesText = true
    else if (word.text === '-' || word.text === '-s' || isInput(word)) break
    else if (isDescriptor(word)) return UNKNOWN_SCRIPTS
    else if (!/^[-+]./.test(word.text)) return takesText ? joinScript([word]) : NO_SCRIPTS
  }
  return isFed ? UNKNOWN_SCRIPTS : scriptsOfInput(redirections)
}

/** Paths of the standard input, and of any open file. */
const isInput = ({ text }: Word): boolean => /^(\/dev\/(stdin|fd\/0)|\/proc\/(self|\d+)\/fd\/0)$/.test(text)
const isDescriptor = ({ text }: Word): boolean => /^\/(dev\/fd|proc)\//.test(text)

function scriptsOfInput(redirections: readonly Redirection[]): NestedScripts {
  const scripts: string[] = []
  for (const { operator, target, body } of redirections) {
    if (operator === '<' && target.isProcess) return UNKNOWN_SCRIPTS
    if (operator === '<<<' && !target.isLiteral) return UNKNOWN_SCRIPTS
    if (operator === '<<<') scripts.push(target.text)
    if (body && !body.isLiteral) return UNKNOWN_SCRIPTS
    if (body) scripts.push(body.text)
  }
  return { type: 'known', scripts }
}

function scriptsOfSource({ words, redirections, isFed }: Command): NestedScripts {
  const [file] = operandsOf(words)
  if (file?.isProcess) return UNKNOWN_SCRIPTS
  if (file && isInput(file)) return isFed ? UNKNOWN_SCRIPTS : scriptsOfInput(redirections)
  return file && isDescriptor(file) ? UNKNOWN_SCRIPTS : NO_SCRIPTS
}

/** Commands that run for each file found; the file replaces `{}` or is appended. */
function scriptsOfExec(
  words: readonly Word[],
  { options, budget }: { options: readonly string[]; budget: WorkBudget },
): NestedScripts {
  const commands: Command[] = []
  for (const [index, { text }] of words.entries()) {
    if (!options.includes(text)) continue
    budget.spend((words.length - index) * STEPS_PER_WORD)
    const rest = words.slice(index + 1)
    const end = rest.findIndex((word) => word.text === ';' || word.text === '+')
    const own = (end < 0 ? rest : rest.slice(0, end)).map((word) => (word.text.includes('{}') ? FOUND : word))
    commands.push({ words: [...own, FOUND], redirections: [], isFed: false })
  }
  return { type: 'known', commands }
}

const FOUND: Word = { text: UNKNOWN, isLiteral: false, isOpen: false, isPlain: false, isProcess: false }

function firstDefined<T, R>(list: readonly T[], look: (one: T) => R | undefined): R | undefined {
  for (const one of list) {
    const found = look(one)
    if (found !== undefined) return found
  }
  return undefined
}
