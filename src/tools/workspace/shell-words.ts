/**
 * A word of a shell command line as the shell sees it: without quotes and escapes, with expansions marked as unknown.
 * Nothing is expanded here.
 */
export type Word = {
  /** `UNKNOWN` marks an expansion, `PATTERN` a wildcard for file names. */
  text: string
  /** It has no expansion or wildcard. */
  isLiteral: boolean
  /** It may expand to an option, or to several words. */
  isOpen: boolean
  /** Without quotes: only such a word can be a reserved word such as `then` or `}`. */
  isPlain: boolean
  /** `<(…)`: the output of a command in place of a file. */
  isProcess: boolean
}

export const UNKNOWN = '\u0000'
export const PATTERN = '\u0001'

/** The parser's position. Substitutions are read in place, with the same cursor. */
export type Cursor = { text: string; at: number; depth: number }

/** Reads the commands of a substitution, from after its opening parenthesis to its closing one. `fed`: they are given input. */
export type ReadNested = (cursor: Cursor, input?: 'fed') => void

/** Syntax this parser does not know. Caught inside this folder. */
export class Unreadable extends Error {}

const ENDS_WORD = ' \t\n;&|()<>'

export function readWord(cursor: Cursor, nested: ReadNested): Word {
  const word: Word = { text: '', isLiteral: true, isOpen: false, isPlain: true, isProcess: false }
  for (;;) {
    const char = cursor.text[cursor.at]
    const next = cursor.text[cursor.at + 1]
    if ((char === '<' || char === '>') && next === '(') {
      cursor.at += 2
      nested(cursor, char === '>' ? 'fed' : undefined)
      word.isProcess = true
      addUnknown(word, 'split')
    } else if (next === '(' && char !== undefined && '?*+@!'.includes(char)) {
      cursor.at += 1
      skipBalanced(cursor, nested)
      addPattern(word)
    } else if (char === undefined || ENDS_WORD.includes(char)) return word
    else if (char === "'") {
      word.isPlain = false
      word.text += readUntil(cursor, "'")
    } else if (char === '"') {
      word.isPlain = false
      cursor.at += 1
      readDoubleQuoted(cursor, word, nested)
    } else if (char === '\\') readEscape(cursor, word)
    else if (char === '$' && next === "'") {
      word.isPlain = false
      cursor.at += 1
      word.text += readAnsiQuoted(cursor)
    } else if (char === '$' && next === '"') cursor.at += 1
    else if (char === '$') readExpansion(cursor, word, { nested, quoted: false })
    else if (char === '`') readBackticks(cursor, word, { nested, quoted: false })
    else if (char === '*' || char === '?' || (char === '[' && restOfWordHas(cursor, SET_END))) {
      cursor.at += 1
      addPattern(word)
    } else if (char === '{' && restOfWordHas(cursor, BRACE_LIST)) {
      cursor.at += 1
      addUnknown(word, 'split')
    } else {
      cursor.at += 1
      word.text += char
    }
  }
}

/** `[a-z]` matches file names; a bracket that is not closed in its word is literal. */
const SET_END = /[^[]\]/
/** `{a,b}` and `{1..9}` become several words. */
const BRACE_LIST = /,|\.\./
const MAX_AHEAD = 300

/** Whether the rest of a word, quotes included, matches; a rest that is too long to be looked at does. */
function restOfWordHas({ text, at }: Cursor, pattern: RegExp): boolean {
  let quote = ''
  let end = at
  for (; end < text.length && end < at + MAX_AHEAD; end++) {
    const char = text[end]!
    if (char === '\\') end += 1
    else if (quote !== '') quote = char === quote ? '' : quote
    else if (char === "'" || char === '"') quote = char
    else if (ENDS_WORD.includes(char)) return pattern.test(text.slice(at, end))
  }
  return end < text.length || pattern.test(text.slice(at, end))
}

/** Reads a text in which only `$` and backticks expand, such as a here-document; true if it has no expansion. */
export function readHereDocument(text: string, depth: number, nested: ReadNested): boolean {
  const word: Word = { text: '', isLiteral: true, isOpen: false, isPlain: false, isProcess: false }
  const cursor = { text, at: 0, depth }
  for (;;) {
    const char = cursor.text[cursor.at]
    if (char === undefined) return word.isLiteral
    if (char === '\\') cursor.at += 2
    else if (char === '$') readExpansion(cursor, word, { nested, quoted: true })
    else if (char === '`') readBackticks(cursor, word, { nested, quoted: true })
    else cursor.at += 1
  }
}

function addUnknown(word: Word, how: 'whole' | 'split'): void {
  if (how === 'split' || word.text === '') word.isOpen = true
  word.text += UNKNOWN
  word.isLiteral = false
}

function addPattern(word: Word): void {
  word.text += PATTERN
  word.isLiteral = false
}

function readUntil(cursor: Cursor, quote: string): string {
  const end = cursor.text.indexOf(quote, cursor.at + 1)
  if (end < 0) throw new Unreadable('a quote is never closed')
  const inside = cursor.text.slice(cursor.at + 1, end)
  cursor.at = end + 1
  return inside
}

function readEscape(cursor: Cursor, word: Word): void {
  const next = cursor.text[cursor.at + 1]
  if (next === undefined) throw new Unreadable('a backslash is the last character')
  cursor.at += 2
  if (next === '\n') return
  word.isPlain = false
  word.text += next
}

function readDoubleQuoted(cursor: Cursor, word: Word, nested: ReadNested): void {
  for (;;) {
    const char = cursor.text[cursor.at]
    const next = cursor.text[cursor.at + 1]
    if (char === undefined) throw new Unreadable('a quote is never closed')
    if (char === '"') {
      cursor.at += 1
      return
    }
    if (char === '\\' && next !== undefined && '"\\$`\n'.includes(next)) {
      cursor.at += 2
      if (next !== '\n') word.text += next
    } else if (char === '$') readExpansion(cursor, word, { nested, quoted: true })
    else if (char === '`') readBackticks(cursor, word, { nested, quoted: true })
    else {
      cursor.at += 1
      word.text += char
    }
  }
}

type ExpansionOptions = { nested: ReadNested; quoted: boolean }

function readExpansion(cursor: Cursor, word: Word, { nested, quoted }: ExpansionOptions): void {
  const rest = cursor.text.slice(cursor.at + 1, cursor.at + 3)
  if (rest[0] === '(') {
    cursor.at += 1
    if (rest === '((') skipArithmetic(cursor, nested)
    else {
      cursor.at += 1
      nested(cursor)
    }
  } else if (rest[0] === '{') {
    cursor.at += 1
    skipBraced(cursor, nested)
  } else {
    const name = VARIABLE.exec(cursor.text.slice(cursor.at + 1, cursor.at + MAX_NAME))
    cursor.at += 1
    if (!name) {
      word.text += '$'
      return
    }
    cursor.at += name[0].length
  }
  addUnknown(word, quoted ? 'whole' : 'split')
}

const VARIABLE = /^([A-Za-z_]\w*|[0-9@*#?$!-])/
const MAX_NAME = 200

function readBackticks(cursor: Cursor, word: Word, { nested, quoted }: ExpansionOptions): void {
  let inside = ''
  for (;;) {
    cursor.at += 1
    const char = cursor.text[cursor.at]
    if (char === undefined) throw new Unreadable('a backtick is never closed')
    if (char === '`') break
    const next = cursor.text[cursor.at + 1]
    if (char === '\\' && next !== undefined && '`\\$'.includes(next)) {
      cursor.at += 1
      inside += next
    } else inside += char
  }
  cursor.at += 1
  nested({ text: `${inside}\n)`, at: 0, depth: cursor.depth })
  addUnknown(word, quoted ? 'whole' : 'split')
}

/** Starts at the first of two parentheses. `((` that opens nested subshells is refused as unreadable. */
export function skipArithmetic(cursor: Cursor, nested: ReadNested): void {
  skipWithin(cursor, { open: '(', close: ')', nested, closesTogether: true })
  if (cursor.text[cursor.at - 2] !== ')') throw new Unreadable('two parentheses that are not arithmetic')
}

/** From an opening parenthesis to after its closing one. */
function skipBalanced(cursor: Cursor, nested: ReadNested): void {
  skipWithin(cursor, { open: '(', close: ')', nested })
}

/** Starts at the brace of `${…}`. */
function skipBraced(cursor: Cursor, nested: ReadNested): void {
  skipWithin(cursor, { open: '{', close: '}', nested })
}

/** Inside, only substitutions that run a command matter. */
function skipWithin(
  cursor: Cursor,
  {
    open,
    close,
    nested,
    closesTogether = false,
  }: { open: string; close: string; nested: ReadNested; closesTogether?: boolean },
): void {
  const inside: Word = { text: '', isLiteral: true, isOpen: false, isPlain: true, isProcess: false }
  let level = 0
  for (;;) {
    const char = cursor.text[cursor.at]
    if (char === undefined) throw new Unreadable(`a ${open} is never closed`)
    if (char === "'" && open === '(') readUntil(cursor, "'")
    else if (char === '"') {
      cursor.at += 1
      readDoubleQuoted(cursor, inside, nested)
    } else if (char === '\\') cursor.at += 2
    else if (char === '$') readExpansion(cursor, inside, { nested, quoted: true })
    else if (char === '`') readBackticks(cursor, inside, { nested, quoted: true })
    else {
      cursor.at += 1
      if (char === open) level += 1
      if (char === close) level -= 1
      if (level === 0) return
      if (closesTogether && level === 1 && char === close && cursor.text[cursor.at] !== close)
        throw new Unreadable('two parentheses that are not arithmetic')
    }
  }
}

const ANSI: Record<string, string> = { n: '\n', t: '\t', r: '\r', a: '\u0007', b: '\b', e: '\u001b', f: '\f', v: '\v' }

/** Starts at the quote of `$'…'`. */
function readAnsiQuoted(cursor: Cursor): string {
  let inside = ''
  cursor.at += 1
  for (;;) {
    const char = cursor.text[cursor.at]
    if (char === undefined) throw new Unreadable('a quote is never closed')
    cursor.at += 1
    if (char === "'") return inside
    if (char !== '\\') {
      inside += char
      continue
    }
    const code = /^(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3})/.exec(
      cursor.text.slice(cursor.at, cursor.at + 9),
    )
    if (code) {
      cursor.at += code[0].length
      inside += characterOf(code[0])
    } else {
      const next = cursor.text[cursor.at] ?? ''
      cursor.at += 1
      inside += ANSI[next] ?? next
    }
  }
}

function characterOf(code: string): string {
  const number = /^[xuU]/.test(code) ? Number.parseInt(code.slice(1), 16) : Number.parseInt(code, 8)
  if (number > 0x10ffff) throw new Unreadable('a character that does not exist')
  return String.fromCodePoint(number)
}
