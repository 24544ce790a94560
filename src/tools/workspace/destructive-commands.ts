import { nameOf, unwrap } from './command-prefixes.ts'
import { DESTRUCTION, isDevice, newProgramCall } from './destruction-table.ts'
import { type Command, parseScript, type Redirection } from './shell-commands.ts'
import { UNKNOWN, type Word } from './shell-words.ts'

/**
 * Why a command line needs a person's word: because something in it destroys, or because that cannot be told from its
 * words. Undefined where neither is so. It reads words and no files: what a script or a program does is for the walls of
 * the sandbox, this is for the accident that is written out plainly.
 */
export function findDestruction(commandLine: string): string | undefined {
  return inScript(commandLine, 0)
}

/** `bash -c 'bash -c …'` */
const DEEPEST = 8

/** Why the most harmless command does, where there is no sandbox. */
export const NO_SANDBOX = 'it runs outside of any sandbox'

export const UNREADABLE = 'the command line cannot be read'
const OUT_OF_SIGHT = 'what it runs cannot be told from its words'

function inScript(text: string, depth: number): string | undefined {
  if (depth > DEEPEST) return OUT_OF_SIGHT
  const script = parseScript(text)
  if (script.type === 'unreadable') return UNREADABLE
  if (script.functions.some(({ startsItself }) => startsItself)) return 'a function that starts itself without end'
  return firstOf(script.commands, (command) => inCommand(command, script.commands, depth))
}

function inCommand(given: Command, beside: readonly Command[], depth: number): string | undefined {
  const overDevice = firstOf(given.redirections, writesOverDevice)
  if (overDevice) return overDevice
  const unwrapped = unwrap(given)
  if (unwrapped.type === 'unknown') return OUT_OF_SIGHT
  if (unwrapped.type === 'script') return inScript(unwrapped.text, depth + 1)
  const { command } = unwrapped
  const name = nameOf(command.words[0])
  if (name === undefined) return undefined
  const hidden = HIDDEN_SCRIPTS.find(({ names }) => names.includes(name))?.read(command)
  if (hidden?.type === 'unknown') return OUT_OF_SIGHT
  const inside = firstOf(hidden?.scripts ?? [], (text) => inScript(text, depth + 1))
  if (inside) return inside
  const inCommands = firstOf(hidden?.commands ?? [], (one) => inCommand(one, beside, depth + 1))
  if (inCommands) return inCommands
  const call = newProgramCall(name, command, beside)
  return DESTRUCTION.find(({ names, when }) => isNamed(name, names) && (!when || when(call)))?.why
}

/** A name that ends in a dot stands for all that begin with it. */
const isNamed = (name: string, names: readonly string[]): boolean =>
  names.some((one) => one === name || (one.endsWith('.') && name.startsWith(one)))

const WRITES = ['>', '>>', '>|', '&>', '&>>', '<>', '>&']

const writesOverDevice = ({ operator, target }: Redirection): string | undefined =>
  WRITES.includes(operator) && isDevice(target.text) ? 'it writes over a device' : undefined

/** What a command is told to run in its turn. */
type NestedScripts = { type: 'known'; scripts?: string[]; commands?: Command[] } | { type: 'unknown' }

const NOTHING: NestedScripts = { type: 'known' }
const CANNOT_TELL: NestedScripts = { type: 'unknown' }

const SHELLS = ['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash', 'fish', 'rbash']

const HIDDEN_SCRIPTS: { names: readonly string[]; read(command: Command): NestedScripts }[] = [
  { names: SHELLS, read: ofShell },
  { names: ['eval'], read: ({ words }) => scriptOf(words.slice(1)) },
  { names: ['trap'], read: ({ words }) => scriptOf(words.slice(1, 2)) },
  { names: ['source', '.'], read: (command) => ofSource(command) },
  { names: ['su', 'runuser', 'script'], read: ({ words }) => afterOption(words, ['-c', '--command']) },
  { names: ['find'], read: ({ words }) => executed(words, ['-exec', '-execdir', '-ok', '-okdir']) },
  { names: ['fd', 'fdfind'], read: ({ words }) => executed(words, ['-x', '-X', '--exec', '--exec-batch']) },
  { names: ['coproc'], read: () => CANNOT_TELL },
]

function scriptOf(words: readonly Word[]): NestedScripts {
  if (!words.every(({ isLiteral }) => isLiteral)) return CANNOT_TELL
  return { type: 'known', scripts: [words.map(({ text }) => text).join(' ')] }
}

function afterOption(words: readonly Word[], options: readonly string[]): NestedScripts {
  const at = words.findIndex(({ text }) => options.includes(text))
  return at < 0 ? NOTHING : scriptOf(words.slice(at + 1, at + 2))
}

/** A shell runs a text, a file, or what it reads; only the second is out of our sight by its nature. */
function ofShell(command: Command): NestedScripts {
  const { words, redirections, isFed } = command
  let takesText = false
  for (let index = 1; index < words.length; index++) {
    const word = words[index]!
    if (word.isProcess || word.isOpen) return word.isProcess || takesText ? CANNOT_TELL : NOTHING
    if (/^[-+][oO]$/.test(word.text) || /^--(rcfile|init-file)$/.test(word.text)) index += 1
    else if (/^-[a-z]*c[a-z]*$/i.test(word.text) && !word.text.startsWith('--')) takesText = true
    else if (word.text === '-' || word.text === '-s' || word.text === '/dev/stdin') break
    else if (!/^[-+]./.test(word.text)) return takesText ? scriptOf([word]) : NOTHING
  }
  return isFed ? CANNOT_TELL : readFrom(redirections)
}

function readFrom(redirections: readonly Redirection[]): NestedScripts {
  const scripts: string[] = []
  for (const { operator, target, body } of redirections) {
    if (operator === '<' && target.isProcess) return CANNOT_TELL
    if (operator === '<<<' && !target.isLiteral) return CANNOT_TELL
    if (operator === '<<<') scripts.push(target.text)
    if (body && !body.isLiteral) return CANNOT_TELL
    if (body) scripts.push(body.text)
  }
  return { type: 'known', scripts }
}

function ofSource({ words, isFed }: Command): NestedScripts {
  const file = words[1]
  return file?.isProcess || (isFed && file?.text === '/dev/stdin') ? CANNOT_TELL : NOTHING
}

/** The commands that are run for each file found, which stands there as `{}` or is added. */
function executed(words: readonly Word[], options: readonly string[]): NestedScripts {
  const commands: Command[] = []
  for (const [index, { text }] of words.entries()) {
    if (!options.includes(text)) continue
    const rest = words.slice(index + 1)
    const end = rest.findIndex((word) => word.text === ';' || word.text === '+')
    const own = (end < 0 ? rest : rest.slice(0, end)).map((word) => (word.text.includes('{}') ? FOUND : word))
    commands.push({ words: [...own, FOUND], redirections: [], isFed: false })
  }
  return { type: 'known', commands }
}

const FOUND: Word = { text: UNKNOWN, isLiteral: false, isOpen: false, isPlain: false, isProcess: false }

function firstOf<T, R>(list: readonly T[], look: (one: T) => R | undefined): R | undefined {
  for (const one of list) {
    const found = look(one)
    if (found !== undefined) return found
  }
  return undefined
}
