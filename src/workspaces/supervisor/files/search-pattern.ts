import type { FileSearchQuery } from '../../../ports/workspace-files.ts'
import { FileRefusal } from './file-refusal.ts'

/** `looksAround`: it has lookaround, so a match may depend on text outside the line. */
export type SearchPattern = { source: string; flags: string; looksAround: boolean }

/** Refuses patterns that cannot match within one line. */
export function requireLinePattern({ pattern, isText }: FileSearchQuery): void {
  if (pattern === '') throw badPattern('The pattern is empty. Say what to look for.')
  if (isText ? /[\n\r]/.test(pattern) : /[\n\r]|(?<!\\)(?:\\\\)*\\[nr]/.test(pattern))
    throw badPattern(
      'The pattern holds a line break, but the search looks at one line at a time. Look for one of the lines.',
    )
}

/**
 * The pattern for the built-in walker. Translates ripgrep's syntax where JavaScript has an equivalent, Unicode letters,
 * digits and words included; JavaScript's lookaround and backreferences also work.
 */
export function newSearchPattern({ pattern, isText, ignoreCase }: FileSearchQuery): SearchPattern {
  const flags = `u${ignoreCase ? 'i' : ''}`
  if (isText) return { source: pattern.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), flags, looksAround: false }
  const inline = /^\(\?([ims]+)\)/.exec(pattern)
  const usedFlags = inline?.[1]?.includes('i') ? `u${'i'}` : flags
  const source = translatePattern(inline ? pattern.slice(inline[0].length) : pattern)
  try {
    new RegExp(source, usedFlags)
  } catch (error) {
    const reason = String((error as Error).message).replace(/^.*\/[a-z]*: /s, '')
    throw badPattern(
      `The pattern is not a regular expression: ${reason}. To look for the very text, set "text" to true.`,
    )
  }
  return { source, flags: usedFlags, looksAround: /\(\?(<?[=!])/.test(pattern) }
}

const WORD_CHARACTERS = String.raw`\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}`
const WORD_BOUNDARY = `(?:(?<=[${WORD_CHARACTERS}])(?![${WORD_CHARACTERS}])|(?<![${WORD_CHARACTERS}])(?=[${WORD_CHARACTERS}]))`
const NOT_WORD_BOUNDARY = `(?:(?<=[${WORD_CHARACTERS}])(?=[${WORD_CHARACTERS}])|(?<![${WORD_CHARACTERS}])(?![${WORD_CHARACTERS}]))`

/** Escapes that JavaScript lacks or reads differently, inside and outside a character class. */
const ESCAPES: Record<string, { inside?: string; outside?: string }> = {
  w: { inside: WORD_CHARACTERS, outside: `[${WORD_CHARACTERS}]` },
  W: { outside: `[^\\n${WORD_CHARACTERS}]` },
  s: { outside: String.raw`[^\S\n]` },
  d: { inside: String.raw`\p{Nd}`, outside: String.raw`\p{Nd}` },
  D: { inside: String.raw`\P{Nd}`, outside: String.raw`\P{Nd}` },
  b: { outside: WORD_BOUNDARY },
  B: { outside: NOT_WORD_BOUNDARY },
  A: { outside: '^' },
  z: { outside: '$' },
  a: { inside: String.raw`\x07`, outside: String.raw`\x07` },
}

const CLASSES: Record<string, string> = {
  alpha: 'a-zA-Z',
  digit: '0-9',
  alnum: 'a-zA-Z0-9',
  upper: 'A-Z',
  lower: 'a-z',
  word: 'a-zA-Z0-9_',
  space: String.raw`\t\v\f `,
  blank: String.raw`\t `,
  xdigit: '0-9a-fA-F',
  cntrl: String.raw`\x00-\x1f\x7f`,
  punct: String.raw`!-\/:-@\[-\x60\{-~`,
  print: String.raw`\x20-~`,
  graph: '!-~',
}

/**
 * Translates piece by piece, so that matches stay within a line. The only state is whether a character class is open.
 */
function translatePattern(pattern: string): string {
  let source = ''
  let isInside = false
  for (let at = 0; at < pattern.length; ) {
    const [taken, written, then]: TranslatedPiece = isInside ? insideClass(pattern, at) : outsideClass(pattern, at)
    source += written
    at += taken
    isInside = then ?? isInside
  }
  return source
}

/** Characters consumed, their translation, and whether a character class is open after them. */
type TranslatedPiece = [taken: number, written: string, isInside?: boolean]

function outsideClass(pattern: string, at: number): TranslatedPiece {
  const rest = pattern.slice(at)
  if (rest.startsWith('(?P<')) return [4, '(?<']
  const repeat = /^\{\d+(,\d*)?\}/.exec(rest)
  if (repeat) return [repeat[0].length, repeat[0]]
  const opening = /^\[\^?\]?/.exec(rest)
  if (opening) return [opening[0].length, opening[0].replace(']', '\\]').replace('^', '^\\n'), true]
  const sign = rest[0]!
  if (sign === '\\') return translateEscape(rest, 'outside')
  if (sign === '.') return [1, '[^\\n]']
  return [1, ']{}'.includes(sign) ? `\\${sign}` : sign]
}

function insideClass(pattern: string, at: number): TranslatedPiece {
  const rest = pattern.slice(at)
  const named = /^\[:(\^?)([a-z]+):\]/.exec(rest)
  const members = named?.[1] === '' ? CLASSES[named[2]!] : undefined
  if (named && members !== undefined) return [named[0].length, members]
  if (rest[0] === '\\') return translateEscape(rest, 'inside')
  if (rest[0] === ']') return [1, ']', false]
  return [1, rest[0] === '[' ? '\\[' : rest[0]!]
}

function translateEscape(rest: string, where: 'inside' | 'outside'): TranslatedPiece {
  const sign = rest[1] ?? ''
  const known = ESCAPES[sign]?.[where]
  if (known !== undefined) return [2, known]
  const point = /^\\[xuU]\{([0-9a-fA-F]+)\}/.exec(rest)
  if (point) return [point[0].length, `\\u{${point[1]}}`]
  const short = /^\\([pP])([A-Z])/.exec(rest)
  if (short) return [short[0].length, `\\${short[1]}{${short[2]}}`]
  const isPlain = sign !== '' && !/[a-zA-Z0-9^$\\.*+?()[\]{}|/]/.test(sign) && !(where === 'inside' && sign === '-')
  return isPlain ? [2, sign] : [2, `\\${sign}`]
}

const badPattern = (message: string): FileRefusal => new FileRefusal('bad-pattern', message)
