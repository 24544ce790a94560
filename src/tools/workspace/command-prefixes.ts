import { OverBudget, type WorkBudget } from '../../core/work-budget.ts'
import type { Command } from './shell-commands.ts'
import { PATTERN, UNKNOWN, type Word } from './shell-words.ts'

/** A program that runs another one; that other one is judged. */
type Prefix = {
  /** Options whose value is the next word. */
  valued?: readonly string[]
  /** Options without a value. With an unlisted option it is unknown where the command begins. */
  alone?: readonly string[]
  /** Number of its operands before the command. */
  operands?: number
  /** It appends words that are unknown until it runs (xargs). */
  adds?: true
  /** It joins its words and passes them to a shell. */
  joins?: true
}

const PREFIXES: Record<string, Prefix> = {
  sudo: {
    valued: ['-u', '-g', '-h', '-p', '-C', '-r', '-t', '-U', '-D', '-T', '--user', '--group'],
    alone: ['-E', '-n', '-S', '-H', '-i', '-s', '-k', '-b', '-A', '--preserve-env', '--non-interactive'],
  },
  doas: { valued: ['-u', '-C'], alone: ['-n', '-s'] },
  env: { valued: ['-u', '--unset', '-C', '--chdir'], alone: ['-i', '-', '--ignore-environment', '-0', '-v'] },
  nohup: {},
  setsid: { alone: ['-w', '-f', '-c', '--wait', '--fork', '--ctty'] },
  timeout: {
    valued: ['-k', '-s', '--signal', '--kill-after'],
    alone: ['--foreground', '--preserve-status', '-v', '--verbose'],
    operands: 1,
  },
  nice: { valued: ['-n', '--adjustment'] },
  ionice: { valued: ['-c', '-n', '--class', '--classdata'], alone: ['-t'] },
  chrt: { alone: ['-i', '-b', '-f', '-r', '-o'], operands: 1 },
  taskset: { alone: ['-a', '-c'], operands: 1 },
  stdbuf: { valued: ['-i', '-o', '-e', '--input', '--output', '--error'] },
  unbuffer: { alone: ['-p'] },
  time: { valued: ['-f', '-o', '--format', '--output'], alone: ['-p', '-v', '-a', '--verbose', '--portability'] },
  command: { alone: ['-p', '-v', '-V'] },
  builtin: {},
  exec: { valued: ['-a'], alone: ['-c', '-l'] },
  busybox: {},
  toybox: {},
  chroot: { operands: 1 },
  proot: {},
  strace: { valued: ['-e', '-o', '-p', '-s'], alone: ['-f', '-ff', '-c', '-q', '-tt', '-T', '-v', '-y'] },
  ltrace: { valued: ['-e', '-o'], alone: ['-f', '-c', '-S'] },
  xargs: {
    valued: ['-I', '-n', '-P', '-L', '-d', '-a', '-s', '-E', '--max-args', '--max-procs', '--delimiter', '--arg-file'],
    alone: ['-0', '-r', '-t', '-x', '-o', '--null', '--no-run-if-empty', '--verbose', '--exit'],
    adds: true,
  },
  flock: { valued: ['-w', '-E', '--timeout'], alone: ['-n', '-x', '-s', '-e', '-u', '-o'], operands: 1 },
  watch: { valued: ['-n', '--interval'], alone: ['-d', '-t', '-g', '-e', '-b', '-c', '-x', '--color'], joins: true },
  ssh: {
    valued: ['-p', '-i', '-l', '-o', '-F', '-J', '-L', '-R', '-D', '-b', '-c', '-e', '-m', '-W'],
    alone: ['-A', '-T', '-t', '-v', '-N', '-q', '-4', '-6', '-C', '-f', '-X', '-Y', '-n'],
    operands: 1,
    joins: true,
  },
}

/** The command that runs in the end; `unknown` if it cannot be read. */
type Unwrapped = { type: 'command'; command: Command } | { type: 'script'; text: string } | { type: 'unknown' }

/** Real commands have three; each copies the words after it. */
const MAX_PREFIXES = 30

/** Removes prefixes such as sudo or env from a command. */
export function unwrap(command: Command, budget: WorkBudget): Unwrapped {
  let words = command.words
  for (let rounds = 0; ; rounds++) {
    if (rounds > MAX_PREFIXES) throw new OverBudget('too many prefixes')
    budget.spend(words.length)
    const name = nameOf(words[0])
    if (words.length === 0) return { type: 'command', command: { ...command, words } }
    if (name === undefined) return { type: 'unknown' }
    const prefix = Object.hasOwn(PREFIXES, name) ? PREFIXES[name] : undefined
    if (!prefix) return { type: 'command', command: { ...command, words } }
    const rest = afterPrefix(words.slice(1), prefix)
    if (!rest) return { type: 'unknown' }
    if (prefix.joins) {
      if (!rest.every(({ isLiteral }) => isLiteral)) return { type: 'unknown' }
      return { type: 'script', text: rest.map(({ text }) => text).join(' ') }
    }
    // Without a command it prints its help or lists variables.
    words = prefix.adds && rest.length > 0 ? fed(rest, words) : rest
  }
}

/** The words that xargs runs: with what it read in place of the text after `-I`, or appended. */
function fed(rest: Word[], before: readonly Word[]): Word[] {
  const options = before.slice(1, before.length - rest.length).map(({ text }) => text)
  const at = options.findIndex((text) => /^-[A-Za-z0-9]*[Ii]|^--replace/.test(text))
  if (at < 0) return [...rest, UNSEEN_WORD]
  const attached = /^(?:-[A-Za-z0-9]*[Ii]|--replace=?)(.*)$/.exec(options[at]!)?.[1]
  const marks = [attached || options[at + 1] || '{}', '{}']
  return rest.map((word) => (marks.some((mark) => word.text.includes(mark)) ? UNSEEN_WORD : word))
}

/** The program's name without its folder; undefined if it is known only at run time. */
export function nameOf(word: Word | undefined): string | undefined {
  if (!word) return undefined
  const name = word.text.slice(word.text.lastIndexOf('/') + 1)
  return name.includes(UNKNOWN) || name.includes(PATTERN) || name === '' ? undefined : name
}

/** Unknown file names; treated as operands, because file names rarely look like options. */
const UNSEEN_WORD: Word = { text: UNKNOWN, isLiteral: false, isOpen: false, isPlain: false, isProcess: false }

const ASSIGNMENT = /^[A-Za-z_]\w*=/

function afterPrefix(words: Word[], prefix: Prefix): Word[] | undefined {
  let left = prefix.operands ?? 0
  for (let index = 0; index < words.length; index++) {
    const word = words[index]!
    const { text } = word
    if (text === '--') return words.slice(index + 1 + left)
    if (word.isOpen) return undefined
    if (text.startsWith('-')) {
      const option = readOption(text, prefix)
      if (option === 'unknown') return undefined
      if (option === 'takes-next') index += 1
    } else if (ASSIGNMENT.test(text)) continue
    else if (left > 0) left -= 1
    else return words.slice(index)
  }
  return []
}

type Option = 'alone' | 'takes-next' | 'unknown'

/** The option itself, an option with its value, a number (`nice -5`), or several letters in one word. */
function readOption(text: string, { valued = [], alone = [] }: Prefix): Option {
  if (valued.includes(text)) return 'takes-next'
  if (alone.includes(text) || /^-\d+$/.test(text)) return 'alone'
  if (text.startsWith('--'))
    return [...valued, ...alone].some((one) => text.startsWith(`${one}=`)) ? 'alone' : 'unknown'
  const letters = [...text.slice(1)]
  for (const [index, letter] of letters.entries()) {
    if (valued.includes(`-${letter}`)) return index === letters.length - 1 ? 'takes-next' : 'alone'
    if (!alone.includes(`-${letter}`)) return 'unknown'
  }
  return 'alone'
}
