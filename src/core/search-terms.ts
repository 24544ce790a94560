import type { MessageBody } from './message.ts'
import { textOf } from './message.ts'

/** One term of a query: as written, and as index tokens. Several tokens must be adjacent. */
export type SearchTerm = { plain: string; tokens: readonly string[] }

/** Further terms of a query are ignored. */
const MAX_TERMS = 32
/** PostgreSQL rejects lexemes of 2 KB. Longer words are keys and hashes, and their beginning identifies them. */
const MAX_TOKEN_LENGTH = 64
/** A term with more tokens than this is searched by adjacent pairs. */
const MAX_PHRASE_TOKENS = 4
/** Indexed characters of one message. Far below the megabyte that PostgreSQL allows for one text vector. */
const MAX_CHARACTERS = 100_000

const PIECES = /\p{Extended_Pictographic}|\p{Regional_Indicator}|[\p{L}\p{M}\p{N}]+/gu
const PICTURE = /^(\p{Extended_Pictographic}|\p{Regional_Indicator})$/u
/** Scripts without spaces between words: each character is a token, and those of a query must be adjacent. */
const UNSPACED = '\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}'
const SIGNS = new RegExp(`[${UNSPACED}]\\p{M}*|[^${UNSPACED}]+`, 'gu')
const HAS_UNSPACED = new RegExp(`[${UNSPACED}]`, 'u')
const LATIN_MARKS = /(?<=[\p{Script=Latin}\p{Script=Greek}])\p{M}+/gu
const ASCII = /^[\0-\x7f]*$/

/** Tokens contain no operator, quote or space of either database. */
export function searchTerms(text: string): SearchTerm[] {
  const terms = new Map<string, SearchTerm>()
  for (const [piece] of text.slice(0, MAX_CHARACTERS).matchAll(PIECES)) {
    const tokens = tokensIn(piece)
    for (const term of tokens.length > MAX_PHRASE_TOKENS
      ? adjacentPairs(tokens)
      : [{ plain: piece.toLowerCase(), tokens }]) {
      if (term.tokens.length > 0) terms.set(term.tokens.join(' '), term)
      if (terms.size === MAX_TERMS) return [...terms.values()]
    }
  }
  return [...terms.values()]
}

/** For a sentence without spaces: most words of such scripts have two characters; more matching pairs rank higher. */
const adjacentPairs = (tokens: readonly string[]): SearchTerm[] =>
  tokens.slice(1).map((token, index) => ({ plain: tokens[index]! + token, tokens: [tokens[index]!, token] }))

/** The index tokens of a text. Both databases use the same rules and find the same. */
export function tokensIn(text: string): string[] {
  const tokens: string[] = []
  for (const [piece] of normalized(text.slice(0, MAX_CHARACTERS)).matchAll(PIECES))
    if (PICTURE.test(piece)) tokens.push(`picture${piece.codePointAt(0)!.toString(16)}`)
    else if (HAS_UNSPACED.test(piece)) for (const [sign] of piece.matchAll(SIGNS)) tokens.push(truncatedToken(sign))
    else tokens.push(truncatedToken(piece))
  return tokens
}

/** Whether an index of space-separated words cannot find the term. */
export const isUnspaced = ({ plain }: SearchTerm): boolean => HAS_UNSPACED.test(plain) || PICTURE.test(plain)

/** The text of a message that search looks at. */
export function searchableText(body: MessageBody): string {
  switch (body.role) {
    case 'user':
    case 'system':
      return textOf(body.content)
    case 'assistant':
      return body.content
        .flatMap((part) => (part.type === 'text' || part.type === 'reasoning' ? [part.text] : []))
        .join('\n')
    case 'summary':
      return body.text
    case 'tool':
      return body.outcomes.map(({ output }) => output).join('\n')
    case 'approval':
      return ''
  }
}

/** Truncates by code points: half of a surrogate pair is not valid text. */
const truncatedToken = (word: string): string =>
  word.length <= MAX_TOKEN_LENGTH ? word : [...word.slice(0, MAX_TOKEN_LENGTH * 2)].slice(0, MAX_TOKEN_LENGTH).join('')

function normalized(text: string): string {
  const lower = text.toLowerCase()
  if (ASCII.test(lower)) return lower
  return lower.normalize('NFKD').replace(LATIN_MARKS, '').normalize('NFKC')
}

/** The usual constant of reciprocal rank fusion. */
const RANK_CONSTANT = 60

const rankScore = (...ranks: readonly (number | undefined)[]): number =>
  ranks.reduce<number>((sum, rank) => (rank === undefined ? sum : sum + 1 / (RANK_CONSTANT + rank)), 0)

type Fused<T> = { item: T; ranks: (number | undefined)[]; score: number }

/** Reciprocal rank fusion: items that rank high in several rankings come first. Ties keep their order. */
export function fuseRankings<T>(rankings: readonly (readonly T[])[], keyOf: (item: T) => string): Fused<T>[] {
  const fused = new Map<string, Fused<T>>()
  for (const [which, ranking] of rankings.entries())
    for (const [index, item] of ranking.entries()) {
      const key = keyOf(item)
      const known = fused.get(key) ?? { item, ranks: rankings.map(() => undefined), score: 0 }
      known.ranks[which] ??= index + 1
      fused.set(key, known)
    }
  const all = [...fused.values()].map((one) => ({ ...one, score: rankScore(...one.ranks) }))
  return all.sort((one, other) => other.score - one.score)
}
