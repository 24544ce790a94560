import {
  type Cursor,
  type ReadNested,
  readHereDocument,
  readWord,
  skipArithmetic,
  Unreadable,
  type Word,
} from './shell-words.ts'

/** A call of a program, builtin or function, anywhere in a command line. */
export type Command = {
  words: Word[]
  redirections: Redirection[]
  /** It comes after a pipe, so it may read the output of another command. */
  isFed: boolean
}

export type Redirection = {
  /** Without its descriptor number. */
  operator: string
  target: Word
  /** The text of a here-document. */
  body?: { text: string; isLiteral: boolean }
}

type ShellFunction = { name: string; body: Command[]; startsItself: boolean }

type ParsedScript = { type: 'read'; commands: Command[]; functions: ShellFunction[] } | { type: 'unreadable' }

/** Nesting of substitutions; real commands need three. */
const MAX_NESTING = 40
/** Commands in one command line. */
const MAX_COMMANDS = 2_000

/**
 * All commands of a script in order, including those in substitutions, subshells, loops and functions. Whether `if` and
 * `fi` match is not checked.
 */
export function parseScript(text: string): ParsedScript {
  const reading: Reading = { commands: [], functions: [], hereDocuments: [], hasPipe: false }
  try {
    readList({ text, at: 0, depth: 0 }, reading, 'end')
    return { type: 'read', commands: reading.commands, functions: reading.functions }
  } catch (error) {
    // A stack overflow: such a command is not readable for a person either.
    if (error instanceof Unreadable || error instanceof RangeError) return { type: 'unreadable' }
    throw error
  }
}

type Reading = {
  commands: Command[]
  functions: ShellFunction[]
  /** Here-documents declared on this line; their texts begin on the next. */
  hereDocuments: { redirection: Redirection; isQuoted: boolean; stripsTabs: boolean }[]
  hasPipe: boolean
}

/** Reserved words that precede a command. */
const BEFORE_COMMAND = new Set(['if', 'then', 'elif', 'else', 'while', 'until', 'do', '!', '{'])
/** Builtins that take assignments as arguments. */
const DECLARES = new Set(['declare', 'typeset', 'local', 'export', 'readonly'])
/** Reserved words that stand alone. */
const ALONE = new Set(['fi', 'done', '}', 'esac'])

type Until = 'end' | ')' | '}' | 'case'

function readList(cursor: Cursor, reading: Reading, until: Until): void {
  if (cursor.depth >= MAX_NESTING) throw new Unreadable('too many commands within each other')
  cursor.depth += 1
  readCommands(cursor, reading, until)
  cursor.depth -= 1
}

function readCommands(cursor: Cursor, reading: Reading, until: Until): void {
  for (;;) {
    skipBlanks(cursor)
    const char = cursor.text[cursor.at]
    if (char === undefined) {
      if (until !== 'end') throw new Unreadable('a parenthesis is never closed')
      takeHereDocuments(cursor, reading)
      return
    }
    if (char === ')') {
      if (until !== ')') throw new Unreadable('a parenthesis was never opened')
      cursor.at += 1
      return
    }
    if (char === '\n') {
      cursor.at += 1
      takeHereDocuments(cursor, reading)
    } else if (char === '|') {
      const next = cursor.text[cursor.at + 1]
      cursor.at += next === '|' || next === '&' ? 2 : 1
      if (next !== '|') reading.hasPipe = true
    } else if (char === ';' && until === 'case' && /^;(;&?|&)/.test(cursor.text.slice(cursor.at, cursor.at + 3))) return
    else if (char === ';' || (char === '&' && cursor.text[cursor.at + 1] !== '>')) {
      cursor.at += 1
    } else if (char === '(') readParenthesis(cursor, reading)
    else if (readCommand(cursor, reading, until) === 'closed') return
  }
}

function skipNewlines(cursor: Cursor, reading: Reading): void {
  for (;;) {
    skipBlanks(cursor)
    if (cursor.text[cursor.at] !== '\n') return
    cursor.at += 1
    takeHereDocuments(cursor, reading)
  }
}

/** Comments count as blanks. */
function skipBlanks(cursor: Cursor): void {
  for (;;) {
    const rest = cursor.text.slice(cursor.at, cursor.at + 2)
    if (rest[0] === ' ' || rest[0] === '\t') cursor.at += 1
    else if (rest === '\\\n') cursor.at += 2
    else if (rest[0] === '#') {
      const end = cursor.text.indexOf('\n', cursor.at)
      cursor.at = end < 0 ? cursor.text.length : end
    } else return
  }
}

const nestedIn =
  (reading: Reading): ReadNested =>
  (cursor, input) => {
    reading.hasPipe ||= input === 'fed'
    readList(cursor, reading, ')')
  }

function readParenthesis(cursor: Cursor, reading: Reading): void {
  const nested = nestedIn(reading)
  if (cursor.text[cursor.at + 1] !== '(') {
    cursor.at += 1
    nested(cursor)
    return
  }
  const start = cursor.at
  skipArithmetic(cursor, nested)
  // A shell without arithmetic commands, such as dash, runs `((rm -rf x))` in two subshells.
  if (TWO_WORDS.test(cursor.text.slice(start, cursor.at))) throw new Unreadable('arithmetic that may be a command')
}

/** Numbers and names in arithmetic have an operator between them. */
const TWO_WORDS = /\w[ \t]+(-[A-Za-z]|[A-Za-z_~$"'])/

/** Words that close the current list. */
const CLOSES: Partial<Record<Until, string>> = { '}': '}', case: 'esac' }

/** Starts at the first character of a command. `closed`: the word ended the list. */
function readCommand(cursor: Cursor, reading: Reading, until: Until): 'read' | 'closed' {
  const command: Command = { words: [], redirections: [], isFed: reading.hasPipe }
  const nested = nestedIn(reading)
  const start = cursor.at
  for (;;) {
    skipBlanks(cursor)
    if (readRedirection(cursor, reading, command)) continue
    const isFirst = command.words.length === 0
    const mayAssign = isFirst || DECLARES.has(command.words[0]!.text)
    if (mayAssign && readAssignment(cursor, reading)) continue
    const char = cursor.text[cursor.at]
    if (char === undefined || '\n;&|)'.includes(char)) break
    if (char === '(') {
      const name = command.words.length === 1 ? command.words[0] : undefined
      if (!name || !/^\(\s*\)/.test(cursor.text.slice(cursor.at, cursor.at + 20)))
        throw new Unreadable('a parenthesis after a word')
      cursor.at = cursor.text.indexOf(')', cursor.at) + 1
      readFunction(cursor, reading, name.text)
      return 'read'
    }
    const word = readWord(cursor, nested)
    if (isFirst && word.isPlain && word.isLiteral) {
      if (word.text === CLOSES[until]) return 'closed'
      // The list of a group ends with its own brace, not with that of a nested group.
      if (word.text === '{' && until === '}') {
        readList(cursor, reading, '}')
        return 'read'
      }
      if (ALONE.has(word.text) || BEFORE_COMMAND.has(word.text)) return 'read'
      if (word.text === 'time' && /^[ \t]*[({]/.test(cursor.text.slice(cursor.at, cursor.at + 20))) return 'read'
      if (readCompound(cursor, reading, word.text)) return 'read'
    }
    command.words.push(word)
  }
  if (cursor.at === start) throw new Unreadable('nothing that can be read')
  if (reading.commands.length >= MAX_COMMANDS) throw new Unreadable('too many commands')
  if (command.words.length > 0 || command.redirections.length > 0) reading.commands.push(command)
  return 'read'
}

/** Reads a construct with its own syntax, such as `for` or `case`; true if the word opens one. */
function readCompound(cursor: Cursor, reading: Reading, word: string): boolean {
  const nested = nestedIn(reading)
  switch (word) {
    case 'for':
    case 'select':
      skipBlanks(cursor)
      if (cursor.text.startsWith('((', cursor.at)) skipArithmetic(cursor, nested)
      else readLoopWords(cursor, reading)
      return true
    case 'case':
      readCase(cursor, reading)
      return true
    case 'function': {
      skipBlanks(cursor)
      const name = readWord(cursor, nested)
      skipBlanks(cursor)
      const parentheses = /^\(\s*\)/.exec(cursor.text.slice(cursor.at, cursor.at + 20))
      cursor.at += parentheses?.[0].length ?? 0
      readFunction(cursor, reading, name.text)
      return true
    }
    case '[[':
      readTest(cursor, nested)
      return true
    default:
      return false
  }
}

/** `for x in a b` or `for x`: the words of a loop run nothing except their substitutions. */
function readLoopWords(cursor: Cursor, reading: Reading): void {
  const nested = nestedIn(reading)
  readWord(cursor, nested)
  skipNewlines(cursor, reading)
  if (!/^in(?![^\s;])/.test(cursor.text.slice(cursor.at, cursor.at + 3))) return
  cursor.at += 2
  readWords(cursor, nested)
}

function readWords(cursor: Cursor, nested: ReadNested): void {
  for (;;) {
    skipBlanks(cursor)
    const char = cursor.text[cursor.at]
    if (char === undefined || '\n;'.includes(char)) return
    const before = cursor.at
    readWord(cursor, nested)
    if (cursor.at === before) throw new Unreadable('no word where one must be')
  }
}

function readCase(cursor: Cursor, reading: Reading): void {
  const nested = nestedIn(reading)
  skipBlanks(cursor)
  readWord(cursor, nested)
  skipNewlines(cursor, reading)
  if (readWord(cursor, nested).text !== 'in') throw new Unreadable('a case without in')
  for (;;) {
    skipNewlines(cursor, reading)
    if (/^esac(?![\w-])/.test(cursor.text.slice(cursor.at, cursor.at + 5))) {
      cursor.at += 4
      return
    }
    if (cursor.text[cursor.at] === '(') cursor.at += 1
    while (cursor.text[cursor.at] !== ')') {
      const before = cursor.at
      skipBlanks(cursor)
      if (cursor.text[cursor.at] === '|') cursor.at += 1
      else readWord(cursor, nested)
      skipBlanks(cursor)
      if (cursor.at === before) throw new Unreadable('a pattern that cannot be read')
    }
    cursor.at += 1
    readList(cursor, reading, 'case')
    const end = /^;(;&?|&)/.exec(cursor.text.slice(cursor.at, cursor.at + 3))
    // Otherwise `esac` was read, which ended the list.
    if (!end) return
    cursor.at += end[0].length
  }
}

/** `[[ … ]]` compares; only its substitutions run something. */
function readTest(cursor: Cursor, nested: ReadNested): void {
  for (;;) {
    skipBlanks(cursor)
    const char = cursor.text[cursor.at]
    if (char === undefined) throw new Unreadable('a [[ is never closed')
    const next = cursor.text[cursor.at + 1]
    const isSubstitution = (char === '<' || char === '>') && next === '('
    if ('()<>&|;\n'.includes(char) && !isSubstitution) cursor.at += 1
    else {
      const word = readWord(cursor, nested)
      if (word.text === ']]') return
      refuseEvaluated(word)
    }
  }
}

function readFunction(cursor: Cursor, reading: Reading, name: string): void {
  skipNewlines(cursor, reading)
  const before = reading.commands.length
  const start = cursor.at
  const char = cursor.text[cursor.at]
  if (char === '(') readParenthesis(cursor, reading)
  else if (char === '{') {
    cursor.at += 1
    readList(cursor, reading, '}')
  } else throw new Unreadable('a function without a body')
  const body = reading.commands.slice(before)
  const text = cursor.text.slice(start, cursor.at)
  const isCalled = body.some(({ words }) => words[0]?.text === name)
  reading.functions.push({ name, body, startsItself: isCalled && /[|&]/.test(text) })
}

const ASSIGNMENT = /^[A-Za-z_]\w*(\[([\w$@*+%/ -]*|"[^"$`\\]*"|'[^'$`]*')\])?\+?=/
/** A name or a subscript that the expression above cannot judge. */
const ODD_ASSIGNMENT = /^[A-Za-z_]\w*(\w{200}|\[[^\]]*(\$\(|\$\{|`|['"\\\s]))/
/** In arithmetic, a subscript is evaluated: a text such as `a[$(rm x)]` runs a command. */
const EVALUATED = /\w\[[^\][`]*(\$\(|`)/

/** Whether a text runs a command if it is used as a number or as the name of a variable. */
export const isEvaluated = ({ text }: Word): boolean => EVALUATED.test(text)

function refuseEvaluated(word: Word): void {
  if (isEvaluated(word)) throw new Unreadable('a subscript that runs a command')
}

/** `NAME=value` before a command, or an array. */
function readAssignment(cursor: Cursor, reading: Reading): boolean {
  const ahead = cursor.text.slice(cursor.at, cursor.at + 300)
  const name = ASSIGNMENT.exec(ahead)
  if (!name) {
    if (ODD_ASSIGNMENT.test(ahead)) throw new Unreadable('an assignment that cannot be read')
    return false
  }
  const nested = nestedIn(reading)
  cursor.at += name[0].length
  if (cursor.text[cursor.at] !== '(') {
    refuseEvaluated(readWord(cursor, nested))
    return true
  }
  cursor.at += 1
  for (;;) {
    skipNewlines(cursor, reading)
    if (cursor.text[cursor.at] === ')') break
    const before = cursor.at
    readWord(cursor, nested)
    if (cursor.at === before) throw new Unreadable('an array that cannot be read')
  }
  cursor.at += 1
  return true
}

const REDIRECTION = /^(\d+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|>>|>&|<&|&>>|&>|>\||<>|<|>)/

function readRedirection(cursor: Cursor, reading: Reading, command: Command): boolean {
  const found = REDIRECTION.exec(cursor.text.slice(cursor.at, cursor.at + 100))
  if (!found) return false
  const operator = found[2]!
  // A process substitution is a word.
  if ((operator === '<' || operator === '>') && cursor.text[cursor.at + found[0].length] === '(') return false
  cursor.at += found[0].length
  skipBlanks(cursor)
  const before = cursor.at
  const target = readWord(cursor, nestedIn(reading))
  if (cursor.at === before) throw new Unreadable('a redirection to nowhere')
  const redirection: Redirection = { operator, target }
  command.redirections.push(redirection)
  const isHereDocument = operator === '<<' || operator === '<<-'
  // A delimiter is not expanded, so that what the reader takes for its end would not be.
  if (isHereDocument && !target.isLiteral) throw new Unreadable('a here-document with an odd delimiter')
  if (isHereDocument)
    reading.hereDocuments.push({ redirection, isQuoted: !target.isPlain, stripsTabs: operator === '<<-' })
  return true
}

/** Starts at the beginning of a line. A here-document that is not closed ends with the text. */
function takeHereDocuments(cursor: Cursor, reading: Reading): void {
  for (const { redirection, isQuoted, stripsTabs } of reading.hereDocuments.splice(0)) {
    const lines: string[] = []
    let continues = false
    while (cursor.at < cursor.text.length) {
      const end = cursor.text.indexOf('\n', cursor.at)
      const line = cursor.text.slice(cursor.at, end < 0 ? undefined : end)
      cursor.at = end < 0 ? cursor.text.length : end + 1
      const stripped = stripsTabs ? line.replace(/^\t+/, '') : line
      if (stripped === redirection.target.text && !continues) break
      continues = !isQuoted && /(^|[^\\])(\\\\)*\\$/.test(stripped.slice(-40))
      lines.push(stripped)
    }
    const text = lines.join('\n')
    const isLiteral = isQuoted || readHereDocument(text, cursor.depth, nestedIn(reading))
    redirection.body = { text, isLiteral }
  }
}
