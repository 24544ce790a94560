import type { FileSearchQuery } from '../../../ports/workspace-files.ts'
import { FileRefusal } from './file-refusal.ts'

/** `looksAround`: whether it fits may depend on what is before or behind a line. */
export type SearchPattern = { source: string; flags: string; looksAround: boolean }

/** Refuses what no program that looks at one line at a time can find. */
export function requireLinePattern({ pattern, isText }: FileSearchQuery): void {
  if (pattern === '') throw bad('The pattern is empty. Say what to look for.')
  if (isText ? /[\n\r]/.test(pattern) : /[\n\r]|(?<!\\)(?:\\\\)*\\[nr]/.test(pattern))
    throw bad('The pattern holds a line break, but the search looks at one line at a time. Look for one of the lines.')
}

/**
 * The pattern as our own walker matches it. Regular expressions are those of ripgrep as far as ours have the same, letters,
 * digits and words of all languages included; what only ours have (looking around, going back) is there as well.
 */
export function newSearchPattern({ pattern, isText, ignoreCase }: FileSearchQuery): SearchPattern {
  const flags = `u${ignoreCase ? 'i' : ''}`
  if (isText) return { source: pattern.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), flags, looksAround: false }
  const inline = /^\(\?([ims]+)\)/.exec(pattern)
  const asked = inline?.[1]?.includes('i') ? `u${'i'}` : flags
  const source = translated(inline ? pattern.slice(inline[0].length) : pattern)
  try {
    new RegExp(source, asked)
  } catch (error) {
    const reason = String((error as Error).message).replace(/^.*\/[a-z]*: /s, '')
    throw bad(`The pattern is not a regular expression: ${reason}. To look for the very text, set "text" to true.`)
  }
  return { source, flags: asked, looksAround: /\(\?(<?[=!])/.test(pattern) }
}

const WORD = String.raw`\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}`
const EDGE = `(?:(?<=[${WORD}])(?![${WORD}])|(?<![${WORD}])(?=[${WORD}]))`
const NO_EDGE = `(?:(?<=[${WORD}])(?=[${WORD}])|(?<![${WORD}])(?![${WORD}]))`

/** Escapes that mean something else in JavaScript, or nothing; in a class and outside of one. */
const ESCAPES: Record<string, { inside?: string; outside?: string }> = {
  w: { inside: WORD, outside: `[${WORD}]` },
  W: { outside: `[^\\n${WORD}]` },
  s: { outside: String.raw`[^\S\n]` },
  d: { inside: String.raw`\p{Nd}`, outside: String.raw`\p{Nd}` },
  D: { inside: String.raw`\P{Nd}`, outside: String.raw`\P{Nd}` },
  b: { outside: EDGE },
  B: { outside: NO_EDGE },
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

/** One sign after the other, so that as little as possible can go beyond the end of a line; the state is only whether it is inside a class. */
function translated(pattern: string): string {
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

/** How many signs were read, what they become, and whether a class is open after them. */
type TranslatedPiece = [taken: number, written: string, isInside?: boolean]

function outsideClass(pattern: string, at: number): TranslatedPiece {
  const rest = pattern.slice(at)
  if (rest.startsWith('(?P<')) return [4, '(?<']
  const repeat = /^\{\d+(,\d*)?\}/.exec(rest)
  if (repeat) return [repeat[0].length, repeat[0]]
  const opening = /^\[\^?\]?/.exec(rest)
  if (opening) return [opening[0].length, opening[0].replace(']', '\\]').replace('^', '^\\n'), true]
  const sign = rest[0]!
  if (sign === '\\') return escaped(rest, 'outside')
  if (sign === '.') return [1, '[^\\n]']
  return [1, ']{}'.includes(sign) ? `\\${sign}` : sign]
}

function insideClass(pattern: string, at: number): TranslatedPiece {
  const rest = pattern.slice(at)
  const named = /^\[:(\^?)([a-z]+):\]/.exec(rest)
  const members = named?.[1] === '' ? CLASSES[named[2]!] : undefined
  if (named && members !== undefined) return [named[0].length, members]
  if (rest[0] === '\\') return escaped(rest, 'inside')
  if (rest[0] === ']') return [1, ']', false]
  return [1, rest[0] === '[' ? '\\[' : rest[0]!]
}

function escaped(rest: string, where: 'inside' | 'outside'): TranslatedPiece {
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

const bad = (words: string): FileRefusal => new FileRefusal('bad-pattern', words)
